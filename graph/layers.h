// Layers: DSL functions that own parameters, which take their name first. Names and initial values are PyTorch's unless
// said. The option `init` of a layer names the initial distribution of its weight (graph/initialiser.h) in place of the
// layer's own, and sets the layer's bias to 0; a layer throws Error for an initialiser with a bad value.
#pragma once
#include <optional>

#include "graph/functions.h"
#include "graph/initialiser.h"

namespace kb {

struct ConvOptions {
  int64_t kernel = 3, stride = 1, padding = 0, dilation = 1, groups = 1;
  bool bias = false;
  std::optional<Initialiser> init = {};
};
// x (N, C, H, W) -> (N, channels, H', W'). weight (channels, C/groups, kernel, kernel), whose fan_in is
// C k^2 / groups and whose fan_out is channels k^2 / groups. Without `init`: he_normal(fan_out), He et al. 2015; with
// bias: PyTorch's default, weight and bias uniform in +-1/sqrt(fan_in).
Tensor conv2d(const std::string& name, Tensor x, int64_t channels, const ConvOptions& options,
              Where where = Where::current());

// x (N, C, L) -> (N, channels, L'), likewise; weight (channels, C/groups, kernel).
Tensor conv1d(const std::string& name, Tensor x, int64_t channels, const ConvOptions& options,
              Where where = Where::current());

struct LinearOptions {
  bool bias = true;
  std::optional<Initialiser> init = {};
};
// x (..., I) -> (..., features). weight (features, I), whose fan_in is I and whose fan_out is features. Without `init`:
// PyTorch's default, weight and bias uniform in +-1/sqrt(fan_in).
Tensor linear(const std::string& name, Tensor x, int64_t features, const LinearOptions& options = {},
              Where where = Where::current());

constexpr const char* kStatisticsShare = "statistics_share";

struct BatchNormOptions {
  double epsilon = 1e-5;
  double momentum = 0.1;  // PyTorch's: running = (1 - momentum) running + momentum batch
  // normal(s), zeros or ones, as a norm's weight has no fans; zeros for the last one of a residual block (Goyal et al.
  // 2017, section 5.1).
  std::optional<Initialiser> init = {};
};
// x (N, C), (N, C, L) or (N, C, H, W), normalised over all axes but C. Training: batch statistics, and running_mean,
// running_var (unbiased) are written; inference: running statistics. Statistics: as in training, but the scalar input
// `statistics_share` stands for the momentum: 1 writes the batch's over whatever was there, then 1/2, 1/3, ... 1/N
// leave the mean over N batches; Error under Reuse, as that mean would be of the last call alone. num_batches_tracked
// is not kept. Without `init`: weight 1; bias 0.
Tensor batch_norm(const std::string& name, Tensor x, const BatchNormOptions& options = {},
                  Where where = Where::current());

struct LayerNormOptions {
  int64_t axes = 1;
  double epsilon = 1e-5;
  std::optional<Initialiser> init = {};  // normal(s), zeros or ones, as a norm's weight has no fans
};
// Over the last `axes` axes; weight and bias of their shape. Without `init`: weight 1; bias 0.
Tensor layer_norm(const std::string& name, Tensor x, const LayerNormOptions& options = {},
                  Where where = Where::current());

struct EmbeddingOptions {
  std::optional<Initialiser> init = {};
};
// indices i32 of any shape -> indices.shape + (features). weight (rows, features), whose fan_in is features and whose
// fan_out is rows, as PyTorch counts them. Without `init`: normal(1).
Tensor embedding(const std::string& name, Tensor indices, int64_t rows, int64_t features,
                 const EmbeddingOptions& options = {}, Where where = Where::current());

// Zeroes with probability p in training, scaled by 1 / (1 - p); else the identity. x's first axis is the samples.
Tensor dropout(const std::string& name, Tensor x, double p, Where where = Where::current());

}  // namespace kb
