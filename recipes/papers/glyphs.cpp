// A small convolutional net with batch norm on drawn glyphs. It needs no download and trains in a minute on two cores.
#include "recipes/papers/table.h"

namespace kb {
namespace {

Tensor block(const std::string& name, Tensor x, int64_t channels) {
  Scope scope(name);
  x = relu(batch_norm("bn", conv2d("conv", x, channels, {.kernel = 3, .padding = 1})));
  return max_pool2d(x, {.kernel = 2});
}

ModelOutput small_net(Batch& batch) {
  Tensor x = block("block1", batch.images, 32);
  x = block("block2", x, 64);
  x = block("block3", x, 64);
  x = dropout("dropout", relu(linear("fc1", flatten(x), 128)), batch.options.real("dropout"));
  return classification(batch, linear("fc2", x, batch.classes));
}

}  // namespace

Recipe glyphs() {
  return {
      .name = "glyphs",
      .summary = "a small convolutional net on drawn glyphs: no download, about a minute",
      .paper = "Ioffe and Szegedy 2015, Batch normalization",
      .model = small_net,
      .defaults = {.dataset = "glyphs", .minibatch = 64, .epochs = 16, .hyper = {{"weight_decay", 1e-3}}, .lr = 0.05},
      .options = {fraction_option("dropout", 0.5, "share of fc1's units left out in training")}};
}

}  // namespace kb
