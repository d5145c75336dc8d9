#include "recipes/papers/resnet.h"

namespace kb {
namespace {

constexpr int64_t kExpansion = 4;

Tensor shortcut(Tensor x, int64_t channels, int64_t stride) {
  if (stride == 1 && x.dim("C") == channels) return x;
  return batch_norm("downsample.1", conv2d("downsample.0", x, channels, {.kernel = 1, .stride = stride}));
}

}  // namespace

Tensor basic_block(const std::string& name, Tensor x, int64_t channels, int64_t stride) {
  Scope scope(name);
  Tensor y = relu(batch_norm("bn1", conv2d("conv1", x, channels, {.kernel = 3, .stride = stride, .padding = 1})));
  y = batch_norm("bn2", conv2d("conv2", y, channels, {.kernel = 3, .padding = 1}), {.init = zeros});
  return relu(y + shortcut(x, channels, stride));
}

Tensor bottleneck(const std::string& name, Tensor x, int64_t channels, int64_t stride) {
  Scope scope(name);
  const int64_t wide = kExpansion * channels;
  Tensor y = relu(batch_norm("bn1", conv2d("conv1", x, channels, {.kernel = 1})));
  y = relu(batch_norm("bn2", conv2d("conv2", y, channels, {.kernel = 3, .stride = stride, .padding = 1})));
  y = batch_norm("bn3", conv2d("conv3", y, wide, {.kernel = 1}), {.init = zeros});
  return relu(y + shortcut(x, wide, stride));
}

std::vector<int64_t> resnet_stages(int64_t depth) {
  ensure(depth == 50 || depth == 101, "a residual network of 50 or 101 layers");
  return {3, 4, depth == 50 ? 6 : 23, 3};
}

Tensor resnet(Tensor images, int64_t classes, const ResNetOptions& options) {
  Tensor x = relu(batch_norm("bn1", conv2d("conv1", images, 64, {.kernel = 7, .stride = 2, .padding = 3})));
  x = max_pool2d(x, {.kernel = 3, .stride = 2, .padding = 1});
  int64_t channels = 64;
  for (size_t stage = 0; stage < options.blocks.size(); ++stage, channels *= 2) {
    Scope scope("layer" + std::to_string(stage + 1));
    for (int64_t block = 0; block < options.blocks[stage]; ++block)
      x = options.block(std::to_string(block), x, channels, stage > 0 && block == 0 ? 2 : 1);
  }
  return linear("fc", global_avg_pool(x), classes, {.init = normal(0.01)});
}

}  // namespace kb
