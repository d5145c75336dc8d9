#include "tests/support/random_net.h"

#include <algorithm>
#include <string>
#include <vector>

#include "graph/functions.h"
#include "graph/layers.h"
#include "graph/transformer.h"
#include "tests/support/random_numbers.h"

namespace kb::test {
namespace {

constexpr int64_t kMostPixels = 320;      // pixels of all samples
constexpr int64_t kMostElements = 16384;  // elements of an activation

class RandomNet {
 public:
  RandomNet(uint32_t seed, Mode mode) : random_(seed), graph_("final", mode) {
    if (random_.chance(0.05)) classes_ = one_of<int64_t>({600, 1027, 2050});  // rows that blocks share; odd large rows
  }

  Graph run() {
    const int64_t kind = random_.integer(0, 9);
    if (kind < 7)
      convolutional();
    else if (kind < 8)
      perceptron();
    else
      transformer();
    return std::move(graph_);
  }

 private:
  using Block = Tensor (RandomNet::*)(Tensor);

  // ---- draws

  template <class T>
  T one_of(std::vector<T> items) {
    return random_.pick(items);
  }
  // Most convolutions have whole vectors of channels, as products of matrices need.
  int64_t channels() { return one_of<int64_t>({8, 16, 16, 24, 24, 32, 40, 64, 72, 136, 5, 7, 13, 17, 130}); }
  std::string number() { return std::to_string(numbers_++); }

  Tensor activated(Tensor x) {
    switch (random_.integer(0, 15)) {
      case 0:
        return leaky_relu(x, 0.125);
      case 1:
        return gelu(x);
      case 2:
        return silu(x);
      case 3:
        return tanh(x);
      case 4:
        return x;
      default:
        return relu(x);
    }
  }

  Tensor normed(Tensor x) {
    const int64_t kind = random_.integer(0, 9), c = x.size(1);
    const std::string name = "norm" + number();
    if (kind == 0) return x;
    if (kind == 1) return layer_norm(name, x, {.axes = x.rank() - 1, .epsilon = 0.125});
    if (kind > 2 && x.type().elements() > c) return batch_norm(name, x, {.epsilon = 0.125});
    return group_norm(name, x, {.groups = c % 4 == 0 ? 4 : 1, .epsilon = 0.125});
  }

  // ---- convolutions

  static bool fits(int64_t extent, int64_t kernel, int64_t stride) {
    return extent + kernel / 2 * 2 >= kernel && (stride == 1 || extent > 1);
  }

  // A stride or kernel that does not fit becomes 1.
  Tensor conv(Tensor x, int64_t c, int64_t kernel, int64_t stride = 1, int64_t groups = 1) {
    if (!fits(x.size(2), kernel, stride) || !fits(x.size(3), kernel, stride)) stride = 1;
    const bool bias = random_.chance(0.25);
    return conv2d("conv" + number(), x, c,
                  {.kernel = kernel, .stride = stride, .padding = kernel / 2, .groups = groups, .bias = bias});
  }

  Tensor conv_norm(Tensor x, int64_t c, int64_t kernel, int64_t stride = 1, int64_t groups = 1) {
    return normed(conv(x, c, kernel, stride, groups));
  }

  Tensor added(Tensor x, Tensor y) {
    if (x.shape() != y.shape()) x = conv_norm(x, y.size(1), 1, x.size(2) != y.size(2) ? 2 : 1);
    return x.shape() == y.shape() ? x + y : y;
  }

  Tensor bottleneck(Tensor x) {
    const int64_t c = channels(), wide = std::min<int64_t>(2 * c, 144), stride = random_.integer(1, 2);
    const int64_t groups = c % 8 == 0 && random_.chance(0.2) ? c / 8 : 1;
    Tensor y = activated(conv_norm(x, c, 1));
    y = activated(conv_norm(y, c, 3, stride, groups));
    y = conv_norm(y, wide, 1);
    return activated(added(x, y));
  }

  // The norms and activations stand before the convolutions (He et al. 2016b).
  Tensor preactivated(Tensor x) {
    Tensor y = activated(normed(x));
    const int64_t inner = channels();
    y = conv(y, inner, 1);
    return added(x, conv(activated(normed(y)), x.size(1), random_.chance(0.5) ? 1 : 3));
  }

  Tensor basic(Tensor x) {
    const int64_t c = channels(), stride = random_.integer(1, 2);
    Tensor y = activated(conv_norm(x, c, 3, stride));
    y = conv_norm(y, c, random_.chance(0.5) ? 3 : 1);
    return activated(added(x, y));
  }

  // Several convolutions read x.
  Tensor branches(Tensor x) {
    std::vector<Tensor> parts;
    const bool joined = random_.chance(0.5);
    const int64_t count = random_.integer(2, 4), c = channels();
    for (int64_t i = 0; i < count; ++i) {
      const int64_t own = joined ? channels() : c, kernel = random_.chance(0.7) ? 1 : 3;
      const Tensor y = conv_norm(x, own, kernel);
      parts.push_back(random_.chance(0.7) ? activated(y) : y);
    }
    if (joined) return narrowed(concat(parts, 1));
    Tensor total = parts[0];
    for (size_t i = 1; i < parts.size(); ++i) total = total + parts[i];
    return activated(total);
  }

  // A concatenation of many channels goes through one more convolution.
  Tensor narrowed(Tensor x) { return x.size(1) > 144 ? conv(x, 48, 1) : x; }

  Tensor dense(Tensor x) {
    const int64_t growth = channels();
    const Tensor y = conv(activated(normed(x)), growth, random_.chance(0.5) ? 1 : 3);
    return narrowed(concat({x, y}, 1));
  }

  Tensor separable(Tensor x) {
    const Tensor y = activated(conv_norm(x, x.size(1), 3, random_.integer(1, 2), x.size(1)));
    return activated(conv_norm(y, channels(), 1));
  }

  // Squeeze and excitation (Hu et al. 2018).
  Tensor gated(Tensor x) {
    const int64_t c = x.size(1);
    const Tensor inner = relu(linear("squeeze" + number(), global_avg_pool(x), std::max<int64_t>(1, c / 4)));
    const Tensor gate = sigmoid(linear("excite" + number(), inner, c));
    return x * reshape(gate, {x.size(0), c, 1, 1});
  }

  Tensor pointwise(Tensor x) {
    const bool bias = random_.chance(0.7);
    return activated(conv2d("conv" + number(), x, channels(), {.kernel = 1, .bias = bias}));
  }

  // One result has several norms and readers.
  Tensor shared_result(Tensor x) {
    const Tensor y = conv(x, channels(), 1);
    Tensor z = normed(y) * sigmoid(normed(y));
    if (random_.chance(0.5)) z = z + activated(y);
    if (random_.chance(0.5)) z = z + mean(y, {2, 3}, true);
    return z;
  }

  // Sums of several kinds are taken over all pixels of one result.
  Tensor measured(Tensor x) {
    const Tensor y = conv(x, channels(), 1);
    if (y.type().elements() == y.size(1)) return y;
    Tensor z = y;
    for (int64_t left = random_.integer(1, 4); left > 0; --left) switch (random_.integer(0, 4)) {
        case 0:
          z = z * rsqrt(mean(y * y, {0, 2, 3}, true) + 0.125);
          break;
        case 1:
          z = z - stop_gradient(max(y, {0, 2, 3}, true)) * 0.25;
          break;
        case 2:
          z = z + mean(abs(y), {0, 2, 3}, true);
          break;
        case 3:
          z = z - mean(tanh(y), {0, 2, 3}, true);
          break;
        default:
          z = normed(z);
      }
    return activated(z);
  }

  // Blocks of one shape follow each other, as in a stage of a residual network.
  Tensor stage(Tensor x) {
    const int64_t c = one_of<int64_t>({8, 16, 24, 32}), wide = c * random_.integer(1, 3);
    for (int64_t left = random_.integer(2, 3); left > 0; --left) {
      Tensor y = relu(conv_norm(x, c, 1));
      y = relu(conv_norm(y, c, random_.chance(0.5) ? 3 : 1));
      x = relu(added(x, conv_norm(y, wide, 1)));
    }
    return x;
  }

  Tensor split(Tensor x) {
    const int64_t c = x.size(1);
    if (c < 2) return x;
    const int64_t at = random_.chance(0.5) ? c / 2 : random_.integer(1, c - 1);
    const Tensor a = slice(x, 1, 0, at), b = slice(x, 1, at, c);
    return narrowed(concat({conv_norm(a, channels(), 1), random_.chance(0.5) ? b : activated(normed(b))}, 1));
  }

  Tensor twice(Tensor x) {
    const std::string name = "shared" + number();
    const int64_t c = x.size(1), kernel = random_.chance(0.7) ? 1 : 3;
    const auto part = [&](Tensor y) {
      return conv2d("conv", y, c, {.kernel = kernel, .padding = kernel / 2, .bias = true});
    };
    {
      const Scope first(name);
      x = activated(part(x));
    }
    const Reuse again(name);
    return x + part(x) * 0.25;
  }

  Tensor pooled(Tensor x) {
    const int64_t kernel = random_.integer(2, 3), stride = random_.integer(1, 2), padding = random_.integer(0, 1);
    const Tensor y = random_.chance(0.7) ? activated(normed(x)) : x;
    if (std::min(x.size(2), x.size(3)) + 2 * padding < kernel) return y;
    if (random_.chance(0.6)) return max_pool2d(y, {.kernel = kernel, .stride = stride, .padding = padding});
    return avg_pool2d(y, {.kernel = kernel, .stride = stride, .padding = padding});
  }

  Tensor enlarged(Tensor x) {
    if (4 * x.type().elements() > kMostElements || 4 * x.size(0) * x.size(2) * x.size(3) > kMostPixels) return x;
    if (random_.chance(0.5)) {
      const int64_t c = channels();
      return activated(
          conv_transpose2d("up" + number(), x, c, {.kernel = 3, .stride = 2, .padding = 1, .output_padding = 1}));
    }
    const auto how = random_.chance(0.5) ? Interpolation::nearest : Interpolation::bilinear;
    const Tensor wide = upsample2d(x, 2, how);
    return conv_norm(wide, channels(), 1);
  }

  Tensor dropped(Tensor x) { return dropout("dropout" + number(), x, 0.25); }

  // Every pixel looks at all of its image.
  Tensor looking(Tensor x) {
    const int64_t n = x.size(0), c = x.size(1), pixels = x.size(2) * x.size(3);
    if (c % 8 != 0 || pixels > 40) return x;
    const Tensor rows = reshape(transpose(x, {0, 2, 3, 1}), {n, pixels, c});
    const Tensor y = multi_head_attention("attention" + number(), rows, rows, {.attention = {.heads = c / 8}});
    return x + reshape(transpose(y, {0, 2, 1}), x.shape());
  }

  Tensor image() {
    const int64_t h = one_of<int64_t>({1, 1, 2, 3, 4, 5, 7, 8, 11, 13}), c = one_of<int64_t>({1, 3, 3, 4, 8, 16, 24});
    const int64_t w = random_.chance(0.6) ? h : one_of<int64_t>({1, 2, 3, 5, 7, 9, 16});
    const int64_t n = std::clamp<int64_t>(one_of<int64_t>({1, 1, 2, 2, 3, 5, 7}), 1, kMostPixels / (h * w));
    return input(graph_, "images", DType::f32, {n, c, h, w}, "NCHW");
  }

  Tensor stem(Tensor x) {
    const int64_t kernel = one_of<int64_t>({1, 3, 3, 5, 7}), stride = random_.integer(1, 2), c = channels();
    x = activated(conv_norm(x, c, kernel, stride));
    return random_.chance(0.2) && fits(x.size(2), 3, 2) && fits(x.size(3), 3, 2)
               ? max_pool2d(x, {.kernel = 3, .stride = 2, .padding = 1})
               : x;
  }

  void convolutional() {
    static constexpr Block kBlocks[] = {
        &RandomNet::bottleneck,   &RandomNet::bottleneck,    &RandomNet::bottleneck,    &RandomNet::preactivated,
        &RandomNet::preactivated, &RandomNet::basic,         &RandomNet::branches,      &RandomNet::branches,
        &RandomNet::dense,        &RandomNet::stage,         &RandomNet::stage,         &RandomNet::measured,
        &RandomNet::measured,     &RandomNet::separable,     &RandomNet::gated,         &RandomNet::pointwise,
        &RandomNet::pointwise,    &RandomNet::shared_result, &RandomNet::shared_result, &RandomNet::split,
        &RandomNet::twice,        &RandomNet::pooled,        &RandomNet::pooled,        &RandomNet::enlarged,
        &RandomNet::dropped,      &RandomNet::looking};
    Tensor x = stem(image());
    for (int64_t left = random_.integer(1, 4); left > 0; --left) {
      const Block block = kBlocks[random_.integer(0, std::ssize(kBlocks) - 1)];
      x = (this->*block)(x);
    }
    const int64_t head = random_.integer(0, 3);
    if (head == 0) x = activated(normed(x));
    classified(head < 3 ? global_avg_pool(x) : flatten(x));
  }

  // ---- rows of features

  void perceptron() {
    const int64_t n = one_of<int64_t>({1, 2, 7, 16, 33, 130});
    Tensor x = input(graph_, "features", DType::f32, {n, one_of<int64_t>({1, 3, 8, 16, 24, 37, 64, 130})});
    for (int64_t left = random_.integer(1, 4); left > 0; --left) {
      const int64_t c = channels();
      const bool bias = random_.chance(0.5);
      Tensor y = activated(normed(linear("linear" + number(), x, c, {.bias = bias})));
      if (random_.chance(0.2)) y = dropped(y);
      x = x.shape() == y.shape() && random_.chance(0.7) ? x + y : y;
      if (random_.chance(0.2)) x = concat({x, tanh(x)}, 1);
    }
    classified(x);
  }

  void transformer() {
    const int64_t n = random_.integer(1, 3), heads = random_.integer(1, 3);
    const int64_t t = one_of<int64_t>({1, 2, 5, 7, 8, 16, 17}), e = heads * one_of<int64_t>({3, 8, 8, 16});
    const Tensor tokens = index_input(graph_, "tokens", {n, t}, 11);
    Tensor x = embedding("embedding", tokens, 11, e) + sinusoidal_positions(graph_, t, e);
    TransformerOptions options{.heads = heads, .hidden = channels()};
    options.dropout = random_.chance(0.3) ? 0.25 : 0;
    options.pre_norm = random_.chance(0.5);
    options.activation = [kind = random_.integer(0, 1)](Tensor y) { return kind ? gelu(y) : relu(y); };
    const bool decodes = random_.chance(0.3);
    SeenKeys seen{.causal = random_.chance(0.5)};
    const Tensor memory = x;
    for (int64_t layer = random_.integer(1, 2); layer > 0; --layer)
      x = decodes ? decoder_layer("layer" + number(), x, memory, options)
                  : encoder_layer("layer" + number(), x, options, seen);
    const Tensor labels = index_input(graph_, "labels", {n, t}, classes_);
    finish(mean(cross_entropy(linear("head", x, classes_), labels), {1}));
  }

  // ---- losses

  // Takes features [n, ...].
  void classified(Tensor x) {
    const int64_t kind = random_.integer(0, 3);
    if (kind == 0) {
      const Tensor target = input(graph_, "target", DType::f32, {x.size(0), 3});
      return finish(mse(linear("head", x, 3), target));
    }
    const Tensor labels = index_input(graph_, "labels", {x.size(0)}, classes_);
    finish(cross_entropy(linear("head", x, classes_), labels, kind == 1 ? 0.125 : 0.0));
  }

  void finish(Tensor losses) {
    const Tensor weights = input(graph_, "weights", DType::f32, {losses.size(0)}, "N");
    graph_.outputs.push_back({"loss", sum(losses * weights).value(), Merge::sum});
  }

  RandomNumbers random_;
  Graph graph_;
  int numbers_ = 0;
  int64_t classes_ = 5;
};

}  // namespace

Graph random_net(uint32_t seed, Mode mode) { return RandomNet(seed, mode).run(); }

}  // namespace kb::test
