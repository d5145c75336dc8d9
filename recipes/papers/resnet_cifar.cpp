// The residual networks of He et al. 2016, section 4.2: 6n + 2 layers for images of 32x32, in three stages of n blocks
// with 16, 32 and 64 channels, and shortcuts without parameters (option A). Parameters have the names of akamaster's
// PyTorch implementation.
#include "recipes/papers/table.h"

namespace kb {
namespace {

// Returns x at every stride-th row and column, with channels of zeros added, half before and half after those of x.
Tensor padded_shortcut(Tensor x, int64_t channels, int64_t stride) {
  const int64_t missing = channels - x.dim("C");
  if (stride > 1) x = slice(x, {0, 0, 0, 0}, x.shape(), {1, 1, stride, stride});
  return missing == 0 ? x : pad(x, {0, missing / 2, 0, 0}, {0, missing - missing / 2, 0, 0});
}

struct Norm {
  std::string kind;  // "batch", "group" or "none"
  int64_t groups = 1;

  Tensor operator()(const std::string& number, Tensor x) const {
    if (kind == "batch") return batch_norm("bn" + number, x);
    return kind == "group" ? group_norm("gn" + number, x, {.groups = groups}) : x;
  }
};

// Returns the output of a 3x3 convolution, normalised or else with a bias. `number` is "1" for "conv1" and "bn1".
Tensor convolution(const std::string& number, Tensor x, int64_t channels, int64_t stride, const Norm& norm) {
  const bool has_bias = norm.kind == "none";
  return norm(number,
              conv2d("conv" + number, x, channels, {.kernel = 3, .stride = stride, .padding = 1, .bias = has_bias}));
}

Tensor block(const std::string& name, Tensor x, int64_t channels, int64_t stride, const Norm& norm) {
  Scope scope(name);
  Tensor y = relu(convolution("1", x, channels, stride, norm));
  y = convolution("2", y, channels, 1, norm);
  return relu(y + padded_shortcut(x, channels, stride));
}

ModelOutput resnet_cifar_model(Batch& batch) {
  const int64_t blocks = (batch.options.whole("depth") - 2) / 6;
  const Norm norm{batch.options.word("norm"), batch.options.whole("norm-groups")};
  int64_t channels = 16 * batch.options.whole("width");
  Tensor x = relu(convolution("1", batch.images, channels, 1, norm));
  for (int64_t stage = 1; stage <= 3; ++stage) {
    Scope scope("layer" + std::to_string(stage));
    if (stage > 1) channels *= 2;
    for (int64_t b = 0; b < blocks; ++b) x = block(std::to_string(b), x, channels, stage > 1 && b == 0 ? 2 : 1, norm);
  }
  return classification(batch, linear("linear", global_avg_pool(x), batch.classes, {.init = he_normal(fan_in)}));
}

}  // namespace

// The paper's own run is `--epochs 164 --schedule step --lr 0.1 --warmup-epochs 0 --weight-decay 1e-4`: 64,000 steps,
// the rate divided by ten after 32,000 and 48,000. The defaults are for a short run, with a larger rate after a warmup,
// and more weight decay.
Recipe resnet_cifar() {
  return {.name = "resnet_cifar",
          .summary = "residual networks of 8 to 110 layers on CIFAR-10",
          .paper = "He et al. 2016, Deep residual learning for image recognition, section 4.2",
          .model = resnet_cifar_model,
          .defaults = {.dataset = "cifar10",
                       .minibatch = 128,
                       .epochs = 12,
                       .hyper = {{"weight_decay", 5e-4}},
                       .lr = 0.3,
                       .milestones = {82, 123},
                       .warmup_epochs = 2,
                       .augment = "crop,flip"},
          .synthetic = {.shape = {3, 32, 32}},
          .options = {{.name = "depth", .value = 20, .doc = "layers", .choices = {8, 20, 32, 44, 56, 110}},
                      {.name = "width", .value = 1, .doc = "times 16, 32 and 64 channels"},
                      word_option("norm", {"batch", "group", "none"},
                                  "normalisation behind the convolutions; group: Wu and He 2018, which the samples of "
                                  "a worker do not change; none: they have a bias in its place, as in Shallue et al. "
                                  "2018, whose ResNet-8 has no batch norm"),
                      {.name = "norm-groups",
                       .value = 8,
                       .doc = "groups of channels with --norm group",
                       .choices = {1, 2, 4, 8, 16}}}};
}

}  // namespace kb
