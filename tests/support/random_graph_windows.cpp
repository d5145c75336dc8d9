// These steps of a random graph call libraries, look through windows or build composites of many ops; some mark values
// or keep them as state.
#include "tests/support/random_graph_builder.h"

#include <algorithm>

#include "graph/functions.h"
#include "graph/layers.h"

namespace kb::test {

// --- library and windows

void RandomGraphBuilder::product() {
  Pooled& item = pick_rank(2, 4);
  const double bound = item.bound;
  const Tensor a = use(item);
  const bool ta = random_.chance(0.4), tb = random_.chance(0.4);
  const int64_t inner = a.size(ta ? -2 : -1), columns = random_.integer(1, 9);
  Dims dims = a.shape();
  dims[dims.size() - 2] = tb ? columns : inner;
  dims[dims.size() - 1] = tb ? inner : columns;
  const Pooled other = fresh(dims);
  keep(matmul(a, other.tensor, ta, tb), bound * other.bound * static_cast<double>(inner));
}

// Returns an (N, C, H, W) tensor, from the pool or new.
Tensor RandomGraphBuilder::image() {
  if (options_.blocks) return blocked_image();
  for (int attempt = 0; attempt < 4; ++attempt) {
    Pooled& item = pick();
    if (item.tensor.rank() == 4 && item.bound <= 8) return use(item);
  }
  return leaf({random_.integer(1, 3), random_.integer(1, 2) * random_.integer(1, 2), random_.integer(3, 8),
               random_.integer(3, 8)});
}

// Returns an image whose channels are a multiple of 8. Backward may compute one that is normalised again.
Tensor RandomGraphBuilder::blocked_image() {
  for (int attempt = 0; attempt < 4; ++attempt) {
    Pooled& item = pick();
    if (item.tensor.rank() != 4 || item.tensor.size(1) % 8 != 0) continue;
    const Tensor x = use(item);
    if (x.type().elements() > x.size(1) && random_.chance(0.6))
      return batch_norm(fresh_name("norm"), x, {.epsilon = 0.125});
    return item.bound <= 8 ? x : x * 0.25;
  }
  if (random_.chance(0.5)) return leaf({1, 16, 8, 8});
  return leaf({random_.integer(1, 2), 8 * random_.integer(1, 4), random_.integer(2, 4), random_.integer(2, 4)});
}

// Draws the number of channels of a convolution's result.
int64_t RandomGraphBuilder::filters(int64_t groups, int64_t most) {
  return options_.blocks ? 8 * random_.integer(1, 4) : groups * random_.integer(1, most);
}

Window RandomGraphBuilder::window(const Dims& image, bool dilated) {
  Window w;
  if (options_.blocks && random_.chance(0.6)) {  // a result of the same size
    const int64_t kernel = random_.chance(0.3) ? 3 : 1;
    return {{kernel, kernel}, {1, 1}, {kernel / 2, kernel / 2}};
  }
  w.kernel = {};
  for (size_t a = 0; a < 2; ++a) {
    const int64_t extent = image[2 + a], kernel = random_.integer(1, std::min<int64_t>(3, extent));
    w.kernel.push_back(kernel);
    w.stride[a] = random_.integer(1, 3);
    w.padding[a] = random_.integer(0, kernel / 2);
    const bool fits = dilated && 2 * (kernel - 1) + 1 <= extent + 2 * w.padding[a];
    w.dilation[a] = fits && random_.chance(0.3) ? 2 : 1;
  }
  return w;
}

void RandomGraphBuilder::convolution_step() {
  const Tensor x = image();
  const Window w = window(x.shape(), true);
  const int64_t channels = x.size(1), groups = channels % 2 == 0 && random_.chance(0.4) ? 2 : 1;
  const Tensor weight = leaf({filters(groups, 3), channels / groups, w.kernel[0], w.kernel[1]});
  const double terms = static_cast<double>(channels / groups * w.kernel[0] * w.kernel[1]);
  keep(convolution(x, weight, w, groups), 48 * terms);
}

// Adds one of the two gradients of a convolution, as an op of its own.
void RandomGraphBuilder::convolution_gradients() {
  const Tensor x = image();
  const Window w = window(x.shape(), true);
  const int64_t groups = x.size(1) % 2 == 0 && random_.chance(0.4) ? 2 : 1;
  const Tensor weight = leaf({filters(groups, 2), x.size(1) / groups, w.kernel[0], w.kernel[1]});
  const Tensor y = tanh(convolution(x, weight, w, groups));
  if (random_.chance(0.5)) {
    keep(convolution_input_grad(y, weight, w, groups, {x.size(2), x.size(3)}, x.size(1)), 64);
  } else {
    keep(cast(convolution_weight_grad(x, y, w, groups), options_.dtype), 256);
  }
}

void RandomGraphBuilder::average_pooling() {
  const Tensor x = image();
  if (random_.chance(0.3)) return keep(global_avg_pool(x), 8);
  const int64_t kernel = random_.integer(1, std::min<int64_t>({3, x.size(2), x.size(3)}));
  keep(avg_pool2d(x, {.kernel = kernel, .stride = random_.integer(0, 2), .padding = random_.integer(0, kernel / 2)}),
       8);
}

void RandomGraphBuilder::maximum_pooling() {
  const Tensor x = leaf({random_.integer(1, 3), random_.integer(1, 3), random_.integer(3, 8), random_.integer(3, 8)});
  const Window w = window(x.shape(), false);
  const MaxPool pooled = max_pool_with_index(x, w, {2, 3});
  if (random_.chance(0.3)) keep(cast(pooled.index, options_.dtype), 64, true);
  keep(pooled.value, 6, true);
}

// --- composites and markers

void RandomGraphBuilder::softmaxes() {
  Pooled& item = pick_rank(2, 2);
  const double bound = item.bound;
  const Tensor x = use(item);
  switch (random_.integer(0, 2)) {
    case 0:
      return keep(softmax(x, random_.integer(-2, 1)), 1);
    case 1:
      return keep(log_softmax(x), 2 * bound + 5);
    default:
      return keep(cross_entropy(x, indices({x.size(0)}, x.size(1)), 0.125), 2 * bound + 5);
  }
}

void RandomGraphBuilder::normalisation() {
  Pooled& item = pick_rank(2, 4);
  const Tensor x = use(item);
  const std::string name = fresh_name("norm");
  const bool by_channel = x.rank() != 3 && x.type().elements() > x.size(1);
  if (by_channel && random_.chance(0.5)) return keep(batch_norm(name, x, {.epsilon = 0.125}), 6);
  keep(layer_norm(name, x, {.axes = random_.integer(1, x.rank() - 1), .epsilon = 0.125}), 6);
}

void RandomGraphBuilder::markers() {
  Pooled& item = pick();
  const auto [bound, exact] = std::pair{item.bound, item.exact};
  const Tensor x = use(item);
  // With several workers a sum over workers is only an output, which no op reads.
  if (options_.split) {
    graph_.outputs.push_back({fresh_name("sum"), worker_sum(x).value(), Merge::sum});
    return keep(x * 0.5, bound, exact);
  }
  // A smooth graph has no stop_gradient, because finite differences do not see it.
  if (options_.smooth || random_.chance(0.3)) return keep(worker_sum(x), bound, exact);
  keep(x + stop_gradient(x) * 0.5, 1.5 * bound);
}

void RandomGraphBuilder::dropping() {
  Pooled& item = pick_rank(1, 4);
  const auto [bound, exact] = std::pair{item.bound, item.exact};
  const Tensor x = use(item);
  keep(dropout(fresh_name("dropout"), x, 0.5), 2 * bound, exact);
}

void RandomGraphBuilder::state_step() {
  Pooled& item = pick();
  const double bound = item.bound;
  const Tensor x = use(item);
  const Tensor old = state(graph_, fresh_name("state"), {options_.dtype, x.shape(), ""}, {InitKind::constant, 0.5, 0});
  Tensor added = x * 0.25;
  if (x.rank() == 2 && x.size(0) == x.size(1)) added = added + transpose(old * 0.125, {1, 0});
  write_state(old, old * 0.75 + added);
  if (random_.chance(0.5)) keep(x + old, bound + 6);
  if (random_.chance(0.5)) keep(old, 6);
}

}  // namespace kb::test
