// Layers: DSL functions that own parameters and take their name first. The parameters' names and initial values are
// PyTorch's, unless a comment says otherwise. The option `init` sets the distribution of the layer's weight
// (graph/initialiser.h) and makes its bias 0. A layer throws Error when its arguments do not fit or an initialiser has
// a bad number.
#pragma once
#include <optional>

#include "graph/functions.h"
#include "graph/initialiser.h"

namespace kb {

struct ConvOptions {
  Sides kernel = 3, stride = 1, padding = 0, dilation = 1;  // 3, or {1, 7} for [H, W]
  int64_t groups = 1;
  bool bias = false;
  std::optional<Initialiser> init = {};
};
// x (N, C, H, W) -> (N, channels, H', W'). The weight is (channels, C/groups, kernel height, kernel width); its fan_in
// is C/groups times the kernel's taps and its fan_out channels/groups times these. Without `init` it starts as
// he_normal(fan_out), He et al. 2015; in a layer with a bias both start as in PyTorch, uniform in +-1/sqrt(fan_in).
Tensor conv2d(const std::string& name, Tensor x, int64_t channels, const ConvOptions& options,
              Where where = Where::current());

// x (N, C, L) -> (N, channels, L'). The weight is (channels, C/groups, kernel); all else is as for conv2d. Throws Error
// when an option has two numbers that differ.
Tensor conv1d(const std::string& name, Tensor x, int64_t channels, const ConvOptions& options,
              Where where = Where::current());

struct TransposedConvOptions {
  Sides kernel = 3, stride = 1, padding = 0, output_padding = 0, dilation = 1;  // 3, or {1, 7} for [H, W]
  int64_t groups = 1;
  bool bias = false;
  std::optional<Initialiser> init = {};
};
// x (N, C, H, W) -> (N, channels, H', W') with H' = (H - 1) stride - 2 padding + dilation (kernel - 1) + output_padding
// + 1: the gradient of a conv2d with respect to its input, as PyTorch's ConvTranspose2d. The weight is (C,
// channels/groups, kernel height, kernel width); its fan_in is channels/groups times the kernel's taps, as PyTorch
// counts it, and its fan_out C/groups times these. Without `init` weight and bias start as in PyTorch, uniform in
// +-1/sqrt(fan_in).
Tensor conv_transpose2d(const std::string& name, Tensor x, int64_t channels, const TransposedConvOptions& options,
                        Where where = Where::current());

struct LinearOptions {
  bool bias = true;
  std::optional<Initialiser> init = {};
  bool weight_in_out = false;  // whether the weight is (I, features), as that of Conv1D of transformers
  double rate = 1;             // factor of the weight's learning rate, a finite number > 0
};
// x (..., I) -> (..., features). The weight is (features, I), or with weight_in_out (I, features); its fan_in is I and
// its fan_out is features. Without `init` weight and bias start as in PyTorch, uniform in +-1/sqrt(fan_in).
Tensor linear(const std::string& name, Tensor x, int64_t features, const LinearOptions& options = {},
              Where where = Where::current());

constexpr const char* kStatisticsShare = "statistics_share";

struct BatchNormOptions {
  double epsilon = 1e-5;
  double momentum = 0.1;  // PyTorch's: running = (1 - momentum) running + momentum batch
  // The weight has no fans, so this is normal(s), zeros or ones. Goyal et al. 2017, section 5.1, take zeros for the
  // last batch norm of a residual block.
  std::optional<Initialiser> init = {};
};
// x (N, C), (N, C, L) or (N, C, H, W), normalised over all axes but C. Training normalises by the minibatch and writes
// running_mean and running_var (unbiased); inference normalises by these. Mode::statistics does as training, but the
// scalar input `statistics_share` takes the momentum's place: 1 writes the minibatch's statistics over what was there,
// and 1/2, 1/3, ... 1/N after that leave the mean over N minibatches. Throws Error under Reuse, as that mean would be
// of the last call alone. num_batches_tracked is not kept. Without `init` the weight starts at 1; the bias starts at 0.
Tensor batch_norm(const std::string& name, Tensor x, const BatchNormOptions& options = {},
                  Where where = Where::current());

struct LayerNormOptions {
  int64_t axes = 1;
  double epsilon = 1e-5;
  std::optional<Initialiser> init = {};  // the weight has no fans, so this is normal(s), zeros or ones
};
// Normalises over the last `axes` axes; weight and bias have their shape. Without `init` the weight starts at 1; the
// bias starts at 0.
Tensor layer_norm(const std::string& name, Tensor x, const LayerNormOptions& options = {},
                  Where where = Where::current());

struct GroupNormOptions {
  int64_t groups = 32;
  double epsilon = 1e-5;
  std::optional<Initialiser> init = {};  // the weight has no fans, so this is normal(s), zeros or ones
};
// x (N, C, ...): each sample is normalised over groups of C / groups adjacent channels and all further axes (Wu and He
// 2018, equation 7), so that, unlike batch_norm's, a sample's result depends on no other one, and training and
// inference are alike. Weight and bias have one value a channel. groups = C is instance norm. Throws Error unless
// groups divides C. Without `init` the weight starts at 1; the bias starts at 0.
Tensor group_norm(const std::string& name, Tensor x, const GroupNormOptions& options = {},
                  Where where = Where::current());

struct RmsNormOptions {
  int64_t axes = 1;
  double epsilon = 1e-6;
  std::optional<Initialiser> init = {};  // the weight has no fans, so this is normal(s), zeros or ones
};
// Divides by the root mean square over the last `axes` axes, and multiplies by a weight of their shape (Zhang and
// Sennrich 2019, equation 4, with epsilon added to the mean square). PyTorch's RMSNorm has another default of epsilon,
// that of the dtype. Without `init` the weight starts at 1.
Tensor rms_norm(const std::string& name, Tensor x, const RmsNormOptions& options = {}, Where where = Where::current());

struct EmbeddingOptions {
  std::optional<Initialiser> init = {};
  DType dtype = DType::f32;  // that of the weight; a model that also runs in f64 gives Inputs::real()
};
// indices i32 of any shape -> indices.shape + (features). The weight is (rows, features); its fan_in is features and
// its fan_out is rows, as PyTorch counts them. Without `init` it starts as normal(1).
Tensor embedding(const std::string& name, Tensor indices, int64_t rows, int64_t features,
                 const EmbeddingOptions& options = {}, Where where = Where::current());

// In training, sets each element to 0 with probability p and multiplies the others by 1 / (1 - p); otherwise returns x.
// The first axis of x is the samples.
Tensor dropout(const std::string& name, Tensor x, double p, Where where = Where::current());

}  // namespace kb
