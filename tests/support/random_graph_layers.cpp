// These steps of a random graph are composites: attention, sorting, recurrent and normalising layers, windows of other
// ranks, and gradients that the model itself takes. Their operands are cut to shape from what the pool has.
#include <algorithm>

#include "compiler/passes/passes.h"
#include "graph/functions.h"
#include "graph/layers.h"
#include "graph/recurrent.h"
#include "graph/transformer.h"
#include "tests/support/random_graph_builder.h"

namespace kb::test {

const std::vector<RandomGraphBuilder::Step>& RandomGraphBuilder::layer_steps() {
  using B = RandomGraphBuilder;
  static const std::vector<Step> table = {
      {true, 3, &B::attending},     {true, 3, &B::ordering},
      {true, 3, &B::kinks},         {true, 1, &B::pooling_the_greatest},
      {true, 2, &B::indexed_moves}, {true, 2, &B::reducing},
      {true, 2, &B::resampling},    {true, 2, &B::convolving},
      {true, 2, &B::layers},        {true, 1, &B::shared_layer},
      {true, 2, &B::products},      {true, 2, &B::losses},
      {true, 1, &B::random_draws},  {true, 2, &B::differentiating},
  };
  return table;
}

// Returns a tensor of `shape` whose elements come from the pool, or a new leaf. Absolute values are at most 8.
Tensor RandomGraphBuilder::cut(const Dims& shape) {
  const int64_t wanted = element_count(shape);
  Pooled& item = pick();
  const int64_t has = item.tensor.type().elements();
  if (random_.chance(0.3) || has == 0 || wanted > 4 * has) return leaf(shape);
  const double bound = item.bound;
  Tensor x = reshape(use(item), {-1});
  if (has < wanted) x = concat(std::vector<Tensor>(static_cast<size_t>((wanted + has - 1) / has), x), 0);
  if (x.size(0) > wanted) {
    const int64_t begin = random_.integer(0, x.size(0) - wanted);
    x = slice(x, 0, begin, begin + wanted);
  }
  x = reshape(x, shape);
  return bound > 8 ? x * 0.25 : x;
}

Tensor RandomGraphBuilder::as_floats(Tensor x) { return x.dtype() == options_.dtype ? x : cast(x, options_.dtype); }

void RandomGraphBuilder::attending() {
  const int64_t n = random_.integer(1, 3), t = random_.integer(1, 6), heads = random_.integer(1, 3);
  const bool causal = random_.chance(0.3);
  const int64_t s = causal ? t : random_.integer(1, 7), d = random_.integer(1, 4), e = random_.integer(1, 4);
  AttentionOptions options{.heads = heads, .causal = causal};
  if (random_.chance(0.3)) options.scale = random_.number(0.125, 1);
  if (random_.chance(0.3)) options.lengths = indices({n}, s + 2);
  if (random_.chance(0.4)) {
    const Dims whole = {n, heads, t, s};
    Dims mask = random_.chance(0.4) ? whole : random_.chance(0.5) ? Dims{n, t, s} : Dims{t, s};
    for (int64_t& extent : mask)
      if (random_.chance(0.25)) extent = 1;
    options.mask = cut(mask);
  }
  if (random_.chance(0.2)) {
    options.dropout = 0.25;
    options.dropout_name = fresh_name("dropout");
  }
  const Tensor k = cut({n, s, heads * d});
  const bool same = random_.chance(0.3);
  const Tensor q = random_.chance(0.2) && s == t ? k : cut({n, t, heads * d});
  keep(attention(q, k, same ? k : cut({n, s, heads * e}), options), 16);
}

void RandomGraphBuilder::ordering() {
  Pooled& item = pick_exact();
  if (item.tensor.rank() == 0) return;
  const double bound = item.bound;
  const Tensor x = use(item);
  const int64_t axis = random_.integer(0, x.rank() - 1);
  Tensor value, index;
  if (random_.chance(0.5)) {
    const Sorted sorted = sort(x, axis, random_.chance(0.5));
    value = sorted.value, index = sorted.index;
  } else {
    const TopK greatest = topk(x, random_.integer(1, std::min<int64_t>(3, x.size(axis))), axis);
    value = greatest.value, index = greatest.index;
  }
  if (random_.chance(0.3)) keep(cast(index, options_.dtype), 101, true);
  keep(value, bound, true);
}

void RandomGraphBuilder::kinks() {
  Pooled& item = pick_exact();
  const double bound = item.bound;
  const Tensor x = use(item);
  switch (random_.integer(0, 9)) {
    case 0:
      return keep(abs(x), bound, true);
    case 1:
      return keep(relu(x), bound, true);
    case 2:
      return keep(leaky_relu(x, 0.25), bound, true);
    case 3:
      return keep(clamp(x, -0.5, 0.75), 1, true);
    case 4:
      return keep(maximum(x, leaf(broadcastable(x.shape()))), std::max<double>(bound, 6), true);
    case 5:
      return keep(minimum(leaf(broadcastable(x.shape())), x), std::max<double>(bound, 6), true);
    case 6:
      return keep(select(x < 0.25, x * x, leaf(broadcastable(x.shape()))), std::max<double>(bound * bound, 6));
    case 7:
      return keep(max(x, some_axes(x.rank(), x.rank() > 0), random_.chance(0.3)), bound, true);
    case 8:
      return keep(min(x, some_axes(x.rank(), x.rank() > 0), random_.chance(0.3)), bound, true);
    default:
      return keep(x * round(x), bound * bound);
  }
}

void RandomGraphBuilder::pooling_the_greatest() {
  const Tensor x = leaf({random_.integer(1, 3), random_.integer(1, 3), random_.integer(3, 8), random_.integer(3, 8)});
  const Window w = window(x.shape(), true);
  const MaxPool pooled = max_pool_with_index(x, w, {2, 3});
  keep(pooled.value, 6, true);
}

void RandomGraphBuilder::indexed_moves() {
  Pooled& item = pick_rank(1, 4);
  const auto [bound, exact] = std::pair{item.bound, item.exact};
  const Tensor x = use(item);
  const int64_t axis = random_.integer(0, x.rank() - 1);
  switch (random_.integer(0, 3)) {
    case 0:
      return keep(flip(x, some_axes(x.rank(), true)), bound, exact);
    case 1: {
      const int64_t most = std::max<int64_t>(1, std::min<int64_t>(6, elements_left(x.shape()) * x.size(axis)));
      const Dims dims = random_.chance(0.3) ? Dims{most / 2 + 1, 2} : Dims{most};
      return keep(gather(x, indices(dims, x.size(axis)), axis), bound, exact);
    }
    case 2: {
      const int64_t rows = random_.integer(1, 7), a = random_.integer(1, 5), b = random_.integer(1, 5);
      return keep(scatter_add(indices({a, b}, rows + 1) - (random_.chance(0.5) ? 1.0 : 0.0), cut({a, b, 3}), rows),
                  200);
    }
    default:
      return keep(as_floats(embedding(fresh_name("table"), indices({random_.integer(1, 4), random_.integer(1, 9)}, 5),
                                      5, 3, {.dtype = options_.dtype == DType::f64 ? DType::f64 : DType::f32})),
                  6, true);
  }
}

void RandomGraphBuilder::reducing() {
  Pooled& item = pick_rank(1, 5);
  const double bound = item.bound;
  const Tensor x = use(item);
  const Ints axes = some_axes(x.rank(), true);
  const bool keep_dims = random_.chance(0.3);
  switch (random_.integer(0, 3)) {
    case 0:
      return keep(logsumexp(x, axes, keep_dims), bound + 7);
    case 1:
      return keep(prod(tanh(x) * 0.25 + 1, axes, keep_dims) * 0x1p-4, 16);
    case 2:
      return keep(norm(x * 0.5 + 8, axes, keep_dims), 32 * static_cast<double>(x.type().elements()));
    default:
      return keep(x / count(x, axes) + reshape(iota(graph_, options_.dtype, x.size(-1)), {x.size(-1)}) * 0.125,
                  bound + 13);
  }
}

void RandomGraphBuilder::resampling() {
  const Tensor x = cut({random_.integer(1, 2), random_.integer(1, 3), random_.integer(1, 6), random_.integer(1, 6)});
  switch (random_.integer(0, 2)) {
    case 0:
      return keep(upsample2d(x, {random_.integer(1, 3), random_.integer(1, 3)},
                             random_.chance(0.5) ? Interpolation::nearest : Interpolation::bilinear),
                  8);
    case 1:
      return keep(adaptive_avg_pool2d(x, {random_.integer(1, 5), random_.integer(1, 5)}), 8);
    default: {
      Window w = window(x.shape(), true);
      for (int64_t& padding : w.padding) padding += random_.integer(0, 1);
      return keep(sum_pool(x, w, {-2, -1}), 72);
    }
  }
}

void RandomGraphBuilder::convolving() {
  const int64_t groups = random_.integer(1, 3), c = groups * random_.integer(1, 3),
                filters = groups * random_.integer(1, 3);
  const int64_t kernel = random_.integer(1, 4), stride = random_.integer(1, 3),
                padding = random_.integer(0, kernel - 1);
  const int64_t dilation = random_.integer(1, 2), out = random_.integer(0, std::max(stride, dilation) - 1);
  if (options_.dtype != DType::f32 && options_.dtype != DType::f64) return;
  switch (random_.integer(0, 2)) {
    case 0: {
      const int64_t least =
          std::max<int64_t>(1, (2 * padding - dilation * (kernel - 1) - out + stride - 1) / stride + 2);
      const Tensor x =
          cut({random_.integer(1, 2), c, random_.integer(least, least + 2), random_.integer(least, least + 2)});
      return keep(conv_transpose2d(fresh_name("up"), x, filters,
                                   {.kernel = kernel,
                                    .stride = stride,
                                    .padding = padding,
                                    .output_padding = out,
                                    .dilation = dilation,
                                    .groups = groups,
                                    .bias = true}),
                  16 * static_cast<double>(c * kernel));
    }
    case 1: {
      const Tensor x = cut({random_.integer(1, 3), c, dilation * (kernel - 1) + random_.integer(1, 7)});
      return keep(conv1d(fresh_name("conv"), x, filters,
                         {.kernel = kernel,
                          .stride = stride,
                          .padding = padding,
                          .dilation = dilation,
                          .groups = groups,
                          .bias = true}),
                  16 * static_cast<double>(c));
    }
    default: {
      const Tensor x = cut({random_.integer(1, 3), c, kernel + random_.integer(0, 7)});
      return keep(avg_pool1d(x, {.kernel = kernel, .stride = stride, .padding = kernel / 2}), 8);
    }
  }
}

void RandomGraphBuilder::layers() {
  const int64_t n = random_.integer(1, 3), t = random_.integer(1, 5), heads = random_.integer(1, 2);
  const int64_t e = heads * 2 * random_.integer(1, 2);
  if (options_.dtype != DType::f32) return;
  const Tensor x = cut({n, t, e});
  const std::string name = fresh_name("layer");
  switch (random_.integer(0, 6)) {
    case 0:
      return keep(lstm(name, x, random_.integer(1, 4), {.layers = random_.integer(1, 2)}), 1);
    case 1:
      return keep(gru(name, x, random_.integer(1, 4), {.layers = 2, .dropout = 0.25}), 1);
    case 2:
      return keep(rotary(x, {.heads = heads, .adjacent = random_.chance(0.5)}), 16);
    case 3:
      return keep(multi_head_attention(name, x, cut({n, random_.integer(1, 4), e}), {.attention = {.heads = heads}}),
                  32);
    case 4: {
      TransformerOptions options{
          .heads = heads, .hidden = 5, .dropout = 0, .pre_norm = random_.chance(0.5), .epsilon = 0.125};
      options.activation = [](Tensor y) { return gelu(y); };
      return keep(encoder_layer(name, x, options, {.causal = random_.chance(0.5)}), 32);
    }
    case 5:
      return keep(rms_norm(name, x, {.axes = random_.integer(1, 2), .epsilon = 0.125}), 8);
    default: {
      const int64_t c = random_.integer(1, 3) * 2;
      return keep(group_norm(name, cut({n, c, random_.integer(2, 5)}),
                             {.groups = random_.chance(0.5) ? 2 : c, .epsilon = 0.125}),
                  8);
    }
  }
}

void RandomGraphBuilder::shared_layer() {
  const std::string name = fresh_name("shared");
  if (options_.dtype != DType::f32) return;
  const Tensor x = cut({random_.integer(1, 5), 3});
  const auto layer = [](Tensor before) {
    Tensor y = tanh(linear("fc", before, 3));
    if (y.size(0) > 1) y = batch_norm("bn", y, {.epsilon = 0.125});
    return dropout("drop", y, 0.5);
  };
  const auto once = [&] {
    const Scope first(name);
    return layer(x);
  };
  const Tensor y = once();
  const Reuse again(name);
  keep(layer(y), 8);
}

void RandomGraphBuilder::products() {
  const int64_t m = random_.integer(1, 5), k = random_.integer(1, 6), columns = random_.integer(1, 5);
  const bool ta = random_.chance(0.4), tb = random_.chance(0.4);
  const Dims whole = shape(0, 2);
  Dims a = broadcastable(whole), b = broadcastable(whole);
  if (element_count(whole) > 12) a = b = {};
  a.insert(a.end(), {ta ? k : m, ta ? m : k});
  b.insert(b.end(), {tb ? columns : k, tb ? k : columns});
  keep(matmul(cut(a), cut(b), ta, tb), 64 * static_cast<double>(k));
}

void RandomGraphBuilder::losses() {
  const int64_t n = random_.integer(1, 5), t = random_.integer(1, 3), classes = random_.integer(1, 7);
  const bool ranked = random_.chance(0.5);
  const Tensor logits = cut(ranked ? Dims{n, t, classes} : Dims{n, classes});
  const Tensor labels = index_input(graph_, fresh_name("i"), ranked ? Dims{n, t} : Dims{n}, classes);
  switch (random_.integer(0, 3)) {
    case 0:
      return keep(as_floats(cross_entropy(logits, labels, 0.125)), 32);
    case 1:
      return keep(as_floats(cross_entropy(logits, labels, 0.0, random_.integer(0, classes - 1))), 32);
    case 2:
      return keep(
          as_floats(cross_entropy(logits, labels, scalar_input(graph_, fresh_name("smoothing"), DType::f32), 0)), 32);
    default:
      return keep(as_floats(mse(logits, cut(logits.shape()))), 256);
  }
}

void RandomGraphBuilder::random_draws() {
  const Dims dims = shape(1, 3);
  const std::string name = fresh_name("stream");
  keep(random_.chance(0.5) ? random_uniform(graph_, name, dims, options_.dtype)
                           : random_normal(graph_, name, dims, options_.dtype),
       6);
}

// Keeps the gradient of one tensor of the pool by another, so that training takes second derivatives.
void RandomGraphBuilder::differentiating() {
  if (options_.dtype != DType::f32 && options_.dtype != DType::f64) return;
  Pooled& by = pick();
  const Tensor x = use(by);
  Pooled& of = pick();
  const Tensor y = use(of);
  const Tensor loss = sum(sin(y * 0.5) * leaf(broadcastable(y.shape())));
  keep(tanh(gradients(loss, {x})[0] * 0.5), 1);
}

}  // namespace kb::test
