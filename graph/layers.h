// Layers: DSL functions that own parameters, which take their name first. Names and initial values are PyTorch's unless
// said.
#pragma once
#include "graph/functions.h"

namespace kb {

struct ConvOptions {
  int64_t kernel = 3, stride = 1, padding = 0, dilation = 1, groups = 1;
  bool bias = false;
};
// x (N, C, H, W) -> (N, channels, H', W'). weight (channels, C/groups, kernel, kernel): He et al. 2015 fan-out normal,
// std sqrt(2 / (channels k^2 / groups)); with bias: PyTorch's default, both uniform in +-1/sqrt(fan_in).
Tensor conv2d(const std::string& name, Tensor x, int64_t channels, const ConvOptions& options,
              Where where = Where::current());

struct LinearOptions {
  bool bias = true;
  double weight_std = 0;  // > 0: N(0, std^2) and zero bias; else PyTorch's uniform +-1/sqrt(fan_in)
};
// x (..., I) -> (..., features). weight (features, I).
Tensor linear(const std::string& name, Tensor x, int64_t features, const LinearOptions& options = {},
              Where where = Where::current());

constexpr const char* kStatisticsShare = "statistics_share";

struct BatchNormOptions {
  double epsilon = 1e-5;
  double momentum = 0.1;     // PyTorch's: running = (1 - momentum) running + momentum batch
  double weight_init = 1.0;  // 0 for the last one of a residual block (Goyal et al. 2017, section 5.1)
};
// x (N, C) or (N, C, H, W), normalised over all axes but C. Training: batch statistics, and running_mean, running_var
// (unbiased) are written; inference: running statistics. Statistics: as in training, but the scalar input
// `statistics_share` stands for the momentum: 1 writes the batch's over whatever was there, then 1/2, 1/3, ... 1/N
// leave the mean over N batches. num_batches_tracked is not kept.
Tensor batch_norm(const std::string& name, Tensor x, const BatchNormOptions& options = {},
                  Where where = Where::current());

// Over the last `axes` axes; weight and bias of their shape.
Tensor layer_norm(const std::string& name, Tensor x, int64_t axes = 1, double epsilon = 1e-5,
                  Where where = Where::current());

// indices i32 of any shape -> indices.shape + (features). weight (rows, features) ~ N(0, 1).
Tensor embedding(const std::string& name, Tensor indices, int64_t rows, int64_t features,
                 Where where = Where::current());

// Zeroes with probability p in training, scaled by 1 / (1 - p); else the identity. x's first axis is the samples.
Tensor dropout(const std::string& name, Tensor x, double p, Where where = Where::current());

}  // namespace kb
