// LeNet-5 with ReLU and max pooling in place of its squashing units and trained subsampling, and wider: its 5x5
// convolutions have 16 and 32 feature maps, times --width. With --norm batch, batch norm follows both convolutions,
// whose weights then start from he_normal(fan_out), as always if a convolution has no bias.
#include "recipes/papers/table.h"

namespace kb {
namespace {

ModelOutput lenet(Batch& batch) {
  const int64_t width = batch.options.whole("width");
  const bool normed = batch.options.word("norm") == "batch";
  // The shift of a norm replaces the bias of the convolution before it.
  const auto activation = [&](const char* norm, Tensor x) { return relu(normed ? batch_norm(norm, x) : x); };
  Tensor x = conv2d("conv1", batch.images, 16 * width, {.kernel = 5, .padding = 2, .bias = !normed});
  x = max_pool2d(activation("bn1", x), {.kernel = 2});
  x = conv2d("conv2", x, 32 * width, {.kernel = 5, .bias = !normed});
  x = flatten(max_pool2d(activation("bn2", x), {.kernel = 2}));
  x = relu(linear("fc1", x, 120));
  x = relu(linear("fc2", x, 84));
  return classification(batch, linear("fc3", x, batch.classes));
}

}  // namespace

Recipe lenet_mnist() {
  return {.name = "lenet_mnist",
          .summary = "LeNet-5, wider, on MNIST or Fashion-MNIST",
          .paper = "LeCun et al. 1998, Gradient-based learning applied to document recognition",
          .model = lenet,
          .defaults = {.dataset = "mnist", .minibatch = 64, .epochs = 6, .hyper = {{"weight_decay", 5e-4}}, .lr = 0.05},
          .options = {{.name = "width", .value = 1, .doc = "times 16 and 32 feature maps"},
                      word_option("norm", {"none", "batch"},
                                  "normalisation behind the convolutions, in place of their bias; their weights then "
                                  "start from he_normal(fan_out)")}};
}

}  // namespace kb
