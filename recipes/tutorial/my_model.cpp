// Your own model on your own images: a small convolutional net over images in class folders.
#include "recipes/commands/program.h"

using namespace kb;

namespace {

Tensor block(const std::string& name, Tensor x, int64_t channels) {
  Scope scope(name);
  x = relu(batch_norm("bn", conv2d("conv", x, channels, {.kernel = 3, .padding = 1})));
  return max_pool2d(x, {.kernel = 2});
}

ModelOutput my_model(Batch& batch) {
  const int64_t width = batch.options.whole("width");
  Tensor x = block("block1", batch.images, width);
  x = dropout("drop", block("block2", x, 2 * width), batch.options.real("dropout"));
  return classification(batch, linear("fc", global_avg_pool(x), batch.classes));
}

}  // namespace

int main(int argc, char** argv) {
  return run_recipe(
      {.name = "my_model",
       .summary = "a small net on images in class folders",
       .paper = "none",
       .model = my_model,
       .defaults = {.dataset = "folder", .minibatch = 16, .epochs = 5, .hyper = {{"weight_decay", 5e-4}}, .lr = 0.1},
       .options = {{.name = "width", .value = 16, .doc = "channels of the first block"},
                   fraction_option("dropout", 0, "share of the channels left out in training")}},
      argc, argv);
}
