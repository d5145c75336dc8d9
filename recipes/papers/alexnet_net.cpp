#include "recipes/papers/alexnet_net.h"

namespace kb {
namespace {

constexpr int64_t kLeastOfPaper = 63;  // smallest side in pixels for which all three poolings have an output

// Appends the layers of "features", named by their numbers in torchvision's Sequential.
struct Features {
  Tensor x;
  bool batch_norm;
  int64_t layer = 0;  // number of the next layer

  void convolve(int64_t channels, ConvOptions options) {
    options.bias = !batch_norm;
    x = conv2d(std::to_string(layer++), x, channels, options);
    if (batch_norm) x = kb::batch_norm(std::to_string(layer++), x);
    x = relu(x);
    ++layer;
  }
  void pool() {
    x = max_pool2d(x, {.kernel = 3, .stride = 2});
    ++layer;
  }
};

Tensor features(Tensor images, bool batch_norm) {
  Scope scope("features");
  Features f{images, batch_norm};
  const bool is_small = images.dim("H") < kLeastOfPaper;
  f.convolve(64, is_small ? ConvOptions{.kernel = 5, .stride = 2, .padding = 2}
                          : ConvOptions{.kernel = 11, .stride = 4, .padding = 2});
  f.pool();
  f.convolve(192, {.kernel = 5, .padding = 2});
  f.pool();
  for (const int64_t channels : {384, 256, 256}) f.convolve(channels, {.kernel = 3, .padding = 1});
  f.pool();
  return f.x;
}

}  // namespace

// Dropout comes before the flattening, which gives the same result. After it, a kernel would have to divide the number
// of every element into channel, row and column if the images have another memory layout.
Tensor alexnet_logits(Tensor images, int64_t classes, const AlexNetOptions& options) {
  Tensor x = features(images, options.batch_norm);
  Scope scope("classifier");
  x = relu(linear("1", flatten(dropout("0", x, options.dropout)), options.hidden));
  x = relu(linear("4", dropout("3", x, options.dropout), options.hidden));
  return linear("6", x, classes);
}

}  // namespace kb
