// Nets that no recipe has, for other_nets.py to time beside PyTorch's: inverted residuals as of MobileNetV2 (Sandler et
// al. 2018), ConvNeXt (Liu et al. 2022), ViT (Dosovitskiy et al. 2021), U-Net (Ronneberger et al. 2015) and an LSTM
// (Hochreiter and Schmidhuber 1997) that reads the rows of an image, each for images of 32x32.
#include <array>
#include <map>
#include <string>

#include "graph/recurrent.h"
#include "graph/transformer.h"
#include "recipes/commands/program.h"

namespace kb {
namespace {

Tensor normed(const std::string& name, Tensor x, int64_t channels, const ConvOptions& options) {
  return batch_norm(name + ".1", conv2d(name + ".0", x, channels, options));
}

Tensor inverted_residual(const std::string& name, Tensor x, int64_t channels, int64_t stride) {
  Scope scope(name);
  const int64_t wide = 6 * x.dim("C");
  Tensor y = clamp(normed("expand", x, wide, {.kernel = 1}), 0, 6);
  y = clamp(normed("depthwise", y, wide, {.kernel = 3, .stride = stride, .padding = 1, .groups = wide}), 0, 6);
  y = normed("project", y, channels, {.kernel = 1});
  return stride == 1 && x.dim("C") == channels ? x + y : y;
}

Tensor mobilenet(Batch& batch) {
  Tensor x = clamp(normed("stem", batch.images, 32, {.kernel = 3, .padding = 1}), 0, 6);
  int block = 0;
  for (const auto& [channels, blocks, stride] : {std::array<int64_t, 3>{24, 2, 1}, {32, 3, 2}, {64, 3, 2}, {96, 2, 1}})
    for (int64_t i = 0; i < blocks; ++i)
      x = inverted_residual("blocks." + std::to_string(block++), x, channels, i == 0 ? stride : 1);
  x = clamp(normed("head", x, 320, {.kernel = 1}), 0, 6);
  return linear("fc", global_avg_pool(x), batch.classes);
}

Tensor channels_last(Tensor x) { return transpose(x, {0, 2, 3, 1}); }
Tensor channels_first(Tensor x) { return transpose(x, {0, 3, 1, 2}); }

Tensor convnext(Batch& batch) {
  Tensor x = conv2d("stem", batch.images, 48, {.kernel = 4, .stride = 4, .bias = true});
  for (const int64_t channels : {48, 96}) {
    if (channels == 96) {
      x = channels_first(layer_norm("norm", channels_last(x)));
      x = conv2d("down", x, channels, {.kernel = 2, .stride = 2, .bias = true});
    }
    for (int i = 0; i < 3; ++i) {
      Scope scope("stage" + std::to_string(channels) + "." + std::to_string(i));
      const Tensor y = conv2d("conv", x, channels, {.kernel = 7, .padding = 3, .groups = channels, .bias = true});
      const Tensor z = gelu(linear("up", layer_norm("norm", channels_last(y)), 4 * channels));
      x = x + channels_first(linear("down", z, channels));
    }
  }
  return linear("fc", layer_norm("last", global_avg_pool(x)), batch.classes);
}

Tensor vit(Batch& batch) {
  constexpr int64_t kWidth = 192;
  Tensor x = conv2d("patch", batch.images, kWidth, {.kernel = 4, .stride = 4, .bias = true});
  const int64_t patches = x.dim("H") * x.dim("W");
  x = transpose(reshape(x, {x.size(0), kWidth, patches}), {0, 2, 1});
  const Type places{x.dtype(), {patches, kWidth}, ""};
  x = x + parameter(x.graph(), "places", Role::embedding, places, {InitKind::normal, 0, 0.02});
  for (int i = 0; i < 4; ++i)
    x = encoder_layer("layers." + std::to_string(i), x, {.heads = 3, .hidden = 4 * kWidth, .pre_norm = true});
  return linear("fc", mean(layer_norm("norm", x), {1}), batch.classes);
}

Tensor two_convolutions(const std::string& name, Tensor x, int64_t channels) {
  Scope scope(name);
  x = relu(normed("a", x, channels, {.kernel = 3, .padding = 1}));
  return relu(normed("b", x, channels, {.kernel = 3, .padding = 1}));
}

Tensor unet(Batch& batch) {
  const auto up = [](const std::string& name, Tensor x, Tensor beside, int64_t channels) {
    x = conv_transpose2d(name + ".up", x, channels, {.kernel = 2, .stride = 2});
    return two_convolutions(name, concat({x, beside}, 1), channels);
  };
  const Tensor fine = two_convolutions("fine", batch.images, 32),
               middle = two_convolutions("middle", max_pool2d(fine, {.kernel = 2}), 64),
               coarse = two_convolutions("coarse", max_pool2d(middle, {.kernel = 2}), 128);
  const Tensor y = up("up0", up("up1", coarse, middle, 64), fine, 32);
  return global_avg_pool(conv2d("out", y, batch.classes, {.kernel = 1, .bias = true}));
}

Tensor of_rows(Batch& batch) {
  const int64_t n = batch.images.size(0), rows = batch.images.dim("H"), width = 512;
  const Tensor x = reshape(transpose(batch.images, {0, 2, 1, 3}), {n, rows, -1});
  const Tensor y = lstm("rnn", x, width, {.layers = 2});
  return linear("fc", reshape(slice(y, 1, rows - 1, rows), {n, width}), batch.classes);
}

const std::map<std::string, Tensor (*)(Batch&)> kNets = {
    {"mobilenet", mobilenet}, {"convnext", convnext}, {"vit", vit}, {"unet", unet}, {"lstm", of_rows}};

ModelOutput chosen(Batch& batch) { return classification(batch, kNets.at(batch.options.word("kind"))(batch)); }

}  // namespace
}  // namespace kb

int main(int argc, char** argv) {
  using namespace kb;
  return run_recipe({.name = "other_nets",
                     .summary = "nets that no recipe has",
                     .paper = "none",
                     .model = chosen,
                     .defaults = {.dataset = "cifar10", .minibatch = 64, .epochs = 1, .lr = 1e-4},
                     .options = {word_option("kind", {"mobilenet", "convnext", "vit", "unet", "lstm"}, "the net")}},
                    argc, argv);
}
