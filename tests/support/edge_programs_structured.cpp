// The table of edges: windows, indexed ops, library ops, leaves, composites and gradients.
#include <fmt/format.h>

#include "graph/layers.h"
#include "graph/recurrent.h"
#include "tests/support/edge_draft.h"

namespace kb::test {
namespace {

void loose(Draft& draft, DType dtype, double units) { draft.options().tolerance = units * rounding(dtype); }

// ---- windows: extents of 1, strides past the kernel, padding, dilation ----

struct Pool {
  Dims shape;
  Window window;
  Ints axes{2, 3};
};

const Pool kPools[] = {
    {{1, 1, 1, 1}, {{1, 1}}},
    {{2, 3, 7, 5}, {{2, 2}, {2, 2}}},
    {{1, 1, 5, 7}, {{3, 3}, {1, 1}, {1, 1}}},
    {{2, 1, 1, 13}, {{1, 3}, {1, 5}, {0, 1}}},
    {{1, 2, 9, 9}, {{3, 2}, {2, 1}, {1, 0}, {2, 3}}},
    {{2, 5, 7, 3}, {{2, 3}, {3, 2}, {1, 1}}, {1, 2}},
    {{1, 2, 17, 18}, {{17, 16}, {1, 1}, {2, 0}}},  // it has more taps than u8 numbers
};

void windows(EdgeTable& table, DType dtype) {
  Draft draft(table, fmt::format("windows of {}", name(dtype)));
  for (const Pool& pool : kPools) {
    const Tensor x = draft.sprinkle(dtype, pool.shape);
    const MaxPool taken = max_pool_with_index(x, pool.window, pool.axes);
    draft.gives("max_pool", taken.value);
    draft.gives("max_pool index", taken.index);
    if (pool.window.kernel[0] != pool.window.kernel[1] || pool.axes[0] != 2) continue;
    const PoolOptions options{pool.window.kernel[0], pool.window.stride[0], pool.window.padding[0]};
    draft.tries("avg_pool2d", [&] { return avg_pool2d(x, options); });
    draft.tries("max_pool2d", [&] { return max_pool2d(x, options); });
  }
  loose(draft, dtype, 8);
  draft.done();
}

// Calls the ops that gradients of windows are made of.
void window_gradient_ops(EdgeTable& table, DType dtype) {
  Draft draft(table, fmt::format("gradient ops of windows of {}", name(dtype)));
  Graph& graph = draft.graph();
  for (const Pool& pool : kPools) {
    const Tensor x = draft.sprinkle(dtype, pool.shape);
    const Tensor index = max_pool_with_index(draft.sprinkle(dtype, pool.shape, 0), pool.window, pool.axes).index;
    const Tensor dy = draft.sprinkle(dtype, index.shape(), 0);
    const Window& w = pool.window;
    const auto at = [&](int64_t axis) { return x.size(pool.axes[static_cast<size_t>(axis)]); };
    const Attrs attrs = {{"kernel", w.kernel},     {"stride", w.stride}, {"padding", w.padding},
                         {"dilation", w.dilation}, {"axes", pool.axes},  {"input_size", Ints{at(0), at(1)}}};
    const auto add = [&](Op op, const std::vector<Value>& inputs) {
      draft.gives(std::string(name(op)), Tensor(graph, graph.add(op, inputs, attrs)));
    };
    const Tensor any = draft.given(index.dtype(), index.shape(), {0, 5, 1, 2, 200, 3, 4, 7, 255, 6, 8, 11, 1, 0});
    for (const Tensor& taken : {index, any}) {
      add(Op::take_at_index, {x.value(), taken.value()});
      add(Op::max_pool_grad, {dy.value(), taken.value()});
    }
    add(Op::sum_pool_grad, {dy.value()});
    if (!is_narrow(dtype)) draft.gives("sum_pool", sum_pool(x, w, pool.axes));
  }
  loose(draft, dtype, 8);
  draft.done();
}

void window_gradients(EdgeTable& table, DType dtype) {
  Draft draft(table, fmt::format("gradients of windows of {}", name(dtype)));
  for (const Pool& pool : kPools) {
    const Tensor x = draft.trained_sprinkle(dtype, pool.shape, 0);
    draft.gives("max_pool", max_pool_with_index(x, pool.window, pool.axes).value);
    draft.gives("sum_pool", sum_pool(x, pool.window, pool.axes));
    if (pool.window.kernel[0] != pool.window.kernel[1] || pool.axes[0] != 2) continue;
    draft.gives("avg_pool2d", avg_pool2d(x, {pool.window.kernel[0], pool.window.stride[0], pool.window.padding[0]}));
    // The maximum of squares, whose gradient goes through indices and a product.
    draft.gives("square", max_pool_with_index(x * x, pool.window, pool.axes).value);
  }
  draft.trains();
  loose(draft, dtype, 64);
  draft.done();
}

// ---- indexed ----

void indexed(EdgeTable& table, DType dtype) {
  Draft draft(table, fmt::format("indexed of {}", name(dtype)));
  const Tensor rows = draft.given(dtype, {7, 3}, edges(dtype)), line = draft.given(dtype, {13}, edges(dtype));
  const Tensor few = draft.given(DType::i32, {2, 5}, {0, 6, 3, 3, 1, 0, 5, 2, 6, 6});
  draft.gives("gather", gather(rows, few));
  draft.gives("gather along an axis", gather(rows, draft.given(DType::i32, {2, 2}, {2, 0, 3, -1}), 1));
  draft.gives("take_along_axis", take_along_axis(rows, draft.given(DType::i32, {7, 2}, {2, 0, 3, -1, 1}), 1));
  draft.gives("flip", flip(rows, {}));
  draft.gives("gather of numbers", gather(line, draft.given(DType::i32, {11}, {12, 0, 7, 7, 1})));
  draft.gives("gather of one row", gather(slice(rows, 0, 2, 3), draft.given(DType::i32, {1}, {0})));
  const Tensor updates = draft.sprinkle(dtype, {2, 5, 3}, 0), numbers = draft.sprinkle(dtype, {17}, 0);
  draft.tries("scatter_add", [&] { return scatter_add(few, updates, 7); });
  draft.tries("scatter_add of numbers", [&] {
    return scatter_add(draft.given(DType::i32, {17}, {4, 0, 4, 2}), numbers, 5);
  });
  draft.tries("scatter_add to one row", [&] { return scatter_add(draft.given(DType::i32, {17}, {0}), numbers, 1); });
  for (const int64_t rows : {1, 5, 300}) {
    const Tensor at = draft.given(DType::i32, {3, 7}, {4, 0, -1, 0, 2147483647.0, 299, -2147483648.0, 4, 5, 1});
    const IndexOrder sorted = index_order(at, rows);
    draft.gives("index_order", sorted.order);
    draft.gives("its starts", sorted.starts);
  }
  const Tensor images = draft.given(dtype, {3, 2, 5, 7}, edges(dtype));
  const Tensor places = draft.given(DType::i32, {3, 3}, {0, 0, 0, -2, 3, 1, 2147483647.0, -2147483648.0, -1});
  draft.gives("crop", crop(images, places, {3, 9}));
  draft.gives("crop of one", crop(images, places, {1, 1}));
  if (is_integer(dtype)) draft.gives("one_hot", one_hot(draft.given(dtype, {2, 9}, edges(dtype)), 5));
  loose(draft, dtype, 8);
  draft.done();
}

// ---- library: extents of 1 and primes, NaN and infinities, both transposes ----

void products(EdgeTable& table, DType dtype) {
  struct Case {
    Dims leading;
    int64_t rows, inner, columns;
  };
  Draft draft(table, fmt::format("products of {}", name(dtype)));
  for (const Case& c : {Case{{}, 1, 1, 1},
                        {{}, 1, 13, 1},
                        {{}, 7, 1, 5},
                        {{}, 1, 3, 17},
                        {{}, 31, 37, 41},
                        {{3}, 2, 5, 1},
                        {{2, 1, 3}, 1, 7, 2}})
    for (const bool ta : {false, true})
      for (const bool tb : {false, true}) {
        Dims a = c.leading, b = c.leading;
        a.insert(a.end(), {ta ? c.inner : c.rows, ta ? c.rows : c.inner});
        b.insert(b.end(), {tb ? c.columns : c.inner, tb ? c.inner : c.columns});
        draft.gives("matmul", matmul(draft.sprinkle(dtype, a, 31), draft.sprinkle(dtype, b, 29), ta, tb));
      }
  loose(draft, dtype, 8);
  draft.done();
}

struct Conv {
  Dims x;
  int64_t channels, groups;
  Window window;
};

const Conv kConvs[] = {
    {{1, 1, 1, 1}, 1, 1, {{1, 1}}},
    {{2, 3, 7, 5}, 5, 1, {{3, 3}, {1, 1}, {1, 1}}},
    {{1, 4, 5, 7}, 6, 2, {{2, 3}, {2, 1}, {0, 1}}},
    {{1, 2, 1, 11}, 2, 2, {{1, 5}, {1, 3}, {0, 2}, {1, 2}}},
    {{1, 1, 3, 3}, 2, 1, {{2, 2}, {3, 3}, {4, 5}}},  // windows that lie in the padding alone
    {{3, 16, 4, 4}, 16, 1, {{3, 3}, {2, 2}, {1, 1}}},
};

void convolutions(EdgeTable& table, DType dtype) {
  Draft draft(table, fmt::format("convolutions of {}", name(dtype)));
  for (const Conv& c : kConvs) {
    const Tensor x = draft.sprinkle(dtype, c.x, 97);
    const Dims filters = {c.channels, c.x[1] / c.groups, c.window.kernel[0], c.window.kernel[1]};
    const Tensor w = draft.sprinkle(dtype, filters, 0);
    const Tensor y = convolution(x, w, c.window, c.groups);
    draft.gives("convolution", y);
    const Tensor dy = draft.sprinkle(dtype, y.shape(), 0), finite = draft.sprinkle(dtype, c.x, 0);
    draft.gives("input_grad", convolution_input_grad(dy, w, c.window, c.groups, {c.x[2], c.x[3]}, c.x[1]));
    draft.gives("weight_grad", convolution_weight_grad(finite, dy, c.window, c.groups));
  }
  loose(draft, dtype, 16);
  draft.done();
}

void library_gradients(EdgeTable& table, DType dtype) {
  Draft draft(table, fmt::format("gradients of library calls of {}", name(dtype)));
  for (const Conv& c : kConvs) {
    const Dims filters = {c.channels, c.x[1] / c.groups, c.window.kernel[0], c.window.kernel[1]};
    draft.gives("convolution", convolution(draft.trained_sprinkle(dtype, c.x, 0),
                                           draft.trained_sprinkle(dtype, filters, 0), c.window, c.groups));
  }
  draft.gives("matmul",
              matmul(draft.trained_sprinkle(dtype, {3, 1, 7}, 0), draft.trained_sprinkle(dtype, {3, 7, 5}, 0)));
  draft.gives("matmul",
              matmul(draft.trained_sprinkle(dtype, {7, 13}, 0), draft.trained_sprinkle(dtype, {1, 7}, 0), true, true));
  draft.trains();
  loose(draft, dtype, 64);
  draft.done();
}

// ---- leaves and markers ----

void leaves(EdgeTable& table) {
  Draft draft(table, "leaves and markers");
  Graph& graph = draft.graph();
  for (const char* scalar : {"step", "worker", "seed"})
    draft.options().bindings[scalar] = {{DType::u32, {}, ""}, {scalar[0] == 's' ? 4294967295.0 : 1}};
  for (const Dims& shape : {Dims{1}, Dims{13}, Dims{3, 1, 7}, Dims{2, 3, 5, 1, 2}})
    draft.gives("random_bits", random_bits(graph, "stream" + text_of(shape), shape));
  for (const DType dtype : {DType::i32, DType::u32})
    for (const int64_t length : {1, 13, 4099}) draft.gives("iota", iota(graph, dtype, length));
  for (const DType dtype : kAllDTypes) {
    const Reals values = edges(dtype);
    draft.gives("constant", constant(graph, dtype, {static_cast<int64_t>(values.size())}, values));
    draft.gives("splat", splat(graph, dtype, 1, {1, 7}));
    const Tensor x = draft.given(dtype, {3, 5}, values);
    draft.gives("full_like", full_like(x, 0));
    draft.gives("stop_gradient", stop_gradient(x));
    if (dtype != DType::boolean) draft.gives("worker_sum", worker_sum(x));
  }
  draft.options().elementwise = true;
  draft.options().tolerance = 0;
  draft.done();
}

// Kernels sum the differences from a channel's first element. Where that is infinite their mean is NaN, and the
// interpreter's is infinite; so a batch norm gets finite numbers and NaN.
Tensor without_infinity(Tensor x) { return select(lt(abs(x), 1e4), x, x - x); }

// ---- composites and layers, forward and backward ----

// Every shape is in f32; f64, bf16 and f16 take turns at them, unless `all` are asked for.
void composites(EdgeTable& table, DType dtype, bool trains, bool all) {
  Draft draft(table, fmt::format("{}composites of {}", trains ? "gradients of " : "", name(dtype)));
  const int one_in = trains ? 0 : 23;
  // Layers of low precision keep their parameters in f32, and all parameters are of one dtype.
  const DType kept = is_low_precision(dtype) ? DType::f32 : dtype;
  const auto x = [&](const Dims& shape) {
    return trains ? cast(draft.trained_sprinkle(kept, shape, 0), dtype) : draft.sprinkle(dtype, shape, one_in);
  };
  for (const char* scalar : {"step", "worker", "seed"}) draft.options().bindings[scalar] = {{DType::u32, {}, ""}, {3}};
  // The number of the shape, from another start for each dtype but f32.
  size_t number = dtype == DType::bf16 ? 2 : dtype == DType::f16 ? 1 : 0;
  for (const Dims& shape : {Dims{1, 1}, Dims{7, 1}, Dims{1, 13}, Dims{5, 11}, Dims{3, 257}}) {
    if (number++ % 3 != 0 && dtype != DType::f32 && !all) continue;
    const Tensor logits = x(shape);
    const Reals classes = {0, static_cast<double>(shape[1] - 1), static_cast<double>(shape[1] / 2)};
    const Tensor labels = draft.given(DType::i32, {shape[0]}, classes);
    draft.gives("cross_entropy", cross_entropy(logits, labels));
    draft.gives("cross_entropy smoothed", cross_entropy(logits, labels, 0.125));
    draft.gives("cross_entropy with ignored labels",
                cross_entropy(reshape(logits, {shape[0], 1, shape[1]}), reshape(labels, {shape[0], 1}), 0.0, 0));
    if (!trains) draft.gives("argmax_equals", argmax_equals(logits, labels));
    if (!trains) draft.gives("in_top_k", in_top_k(logits, labels, 1 + shape[1] / 2));
    if (shape[1] == 11) draft.gives("topk", topk(logits, 3).value);
    if (shape[1] == 11) draft.gives("sort", sort(logits).value);
    if (shape[1] == 257 && dtype == DType::f32) draft.gives("topk of a long row", topk(logits, 9).value);
    draft.gives("softmax", softmax(logits, 0));
    draft.gives("log_softmax", log_softmax(logits));
    draft.gives("mse", mse(logits, draft.sprinkle(dtype, shape, 0)));
    draft.gives("leaky_relu", leaky_relu(logits));
    draft.gives("clamp", clamp(logits, -1, 1.5));
    draft.gives("norm", norm(logits, {1}));
    draft.gives("layer_norm", layer_norm("ln" + text_of(shape), logits, {.epsilon = 0.125}));
    draft.gives("rms_norm", rms_norm("rms" + text_of(shape), logits, {.epsilon = 0.125}));
    draft.gives("logsumexp", logsumexp(logits, {1}));
    draft.gives("dropout", dropout("drop" + text_of(shape), logits, 0.5));
    draft.gives("linear", linear("fc" + text_of(shape), logits, 3));
    if (shape[0] > 1)
      draft.gives("batch_norm", batch_norm("bn" + text_of(shape), without_infinity(logits), {.epsilon = 0.125}));
  }
  const Tensor image = x({2, 3, 5, 1});
  draft.gives("batch_norm", batch_norm("bn", without_infinity(image), {.epsilon = 0.125}));
  draft.gives("group_norm", group_norm("gn", without_infinity(image), {.groups = 3, .epsilon = 0.125}));
  draft.gives("conv2d", conv2d("conv", image, 2, {.kernel = 1, .bias = true}));
  draft.gives("conv_transpose2d", conv_transpose2d("up", image, 2, {.kernel = {2, 1}, .stride = {2, 1}, .bias = true}));
  draft.gives("global_avg_pool", global_avg_pool(image));
  draft.gives("upsample2d", upsample2d(image, 2, Interpolation::nearest));
  draft.gives("upsample2d bilinear", upsample2d(image, {2, 3}, Interpolation::bilinear));
  draft.gives("random_normal", image * random_normal(draft.graph(), "normal", image.shape(), dtype));
  const Tensor steps = without_infinity(x({2, 2, 3}));
  draft.gives("lstm", lstm("lstm", steps, 2));
  draft.gives("gru", gru("gru", steps, 2));
  const Tensor lengths = draft.given(DType::i32, {2}, {2, 1});
  draft.gives("gru of two directions", gru("both", steps, 2, {.bidirectional = true, .lengths = lengths}));
  if (dtype == DType::f32)
    draft.gives("embedding", embedding("table", draft.given(DType::i32, {2, 3}, {0, 4, 2}), 5, 3));
  if (trains) draft.trains();
  loose(draft, dtype, trains ? 512 : 64);
  draft.done();
}

// Adds derivatives of every point-wise op, at ordinary points and at the edges of its domain, and derivatives of moves,
// reductions and indexed ops.
void gradients_of_all(EdgeTable& table, DType dtype) {
  for (const bool special : {false, true}) {
    Draft draft(table, fmt::format("gradients in {}{}", name(dtype), special ? " at edges" : ""));
    const Reals values = special ? Reals{0, -0.0, 1, -1, 0.5, 3, -2.5, 88, -88} : Reals{0.5, 1.25, 2, 0.75, 3};
    for (const OpInfo& row : all_ops()) {
      const bool maps_floats = row.rule == TypeRule::floats || row.rule == TypeRule::arithmetic;
      if (row.op != Op::select && (!maps_floats || row.op == Op::carry)) continue;
      // Every op has parameters of its own, so that a NaN reaches the gradients of that op only.
      const Tensor x = draft.trained(dtype, {9, 9}, values);
      Reals down;
      for (size_t i = 0; i < 81; ++i) down.push_back(values[i / 9 % values.size()]);
      const Tensor y = draft.trained(dtype, {9, 9}, down);
      if (row.op == Op::select)
        draft.gives("select", select(lt(x, y), x, y));
      else
        draft.gives(std::string(row.name), row.arity == 1 ? pointwise(row.op, {x}) : pointwise(row.op, {x, y}));
    }
    const Tensor x = draft.trained(dtype, {3, 5, 7}, values);
    draft.gives("transpose", transpose(x, {2, 0, 1}));
    draft.gives("slice", slice(x, {0, 1, 0}, {3, 5, 7}, {2, 1, 3}));
    draft.gives("pad", pad(x, {1, 0, 0}, {0, 2, 0}, 0, {0, 0, 1}));
    draft.gives("concat", concat({x, slice(x, 1, 0, 1)}, 1));
    draft.gives("broadcast", broadcast_axes(slice(x, 2, 0, 1), {3, 2, 5, 7}, {0, 2, 3}));
    draft.gives("reshape", reshape(x, {7, -1}));
    for (const Ints& axes : {Ints{}, Ints{0}, Ints{-1}, Ints{0, 2}}) {
      const Tensor own = draft.trained(dtype, {3, 5, 7}, values);
      draft.gives("sum", sum(own, axes));
      draft.gives("mean", mean(own, axes, true));
      draft.gives("max", max(own, axes));
      draft.gives("min", min(own, axes, true));
      draft.gives("prod", prod(select(own < 0.0, full_like(own, -1), full_like(own, 1)), axes));
      draft.gives("norm", norm(own, axes));
      draft.gives("mean", moments(own, axes).mean);
      draft.gives("variance", moments(own, axes).variance);
    }
    const Tensor rows = draft.trained(dtype, {7, 3}, values);
    draft.gives("gather", gather(rows, draft.given(DType::i32, {2, 5}, {0, 6, 3, 3, 1, 0, 5, 2, 6, 6})));
    draft.gives("take_along_axis", take_along_axis(rows, draft.given(DType::i32, {2, 3}, {6, 0, 3, 6}), 0));
    draft.gives("scatter_add", scatter_add(draft.given(DType::i32, {7}, {4, 0, 4, 2}), rows, 5));
    const Tensor images = draft.trained(dtype, {2, 5, 3}, values);
    draft.gives("crop", crop(images, draft.given(DType::i32, {2, 3}, {0, 0, 0, -1, 1, 1}), {3, 2}));
    draft.gives("stop_gradient", x * stop_gradient(x));
    draft.gives("cast", cast(cast(x, DType::bf16), dtype));
    draft.trains();
    loose(draft, dtype, 256);
    draft.done();
  }
}

}  // namespace

void structured_edges(EdgeTable& table, bool all) {
  for (const DType dtype : kAllDTypes) {
    if (dtype == DType::boolean) {
      Draft refused(table, "windows of booleans");
      const Tensor x = refused.sprinkle(dtype, {1, 1, 4, 4});
      refused.tries("max_pool", [&] { return max_pool2d(x, {}); });
      refused.tries("avg_pool", [&] { return avg_pool2d(x, {}); });
    } else {
      windows(table, dtype);
      window_gradient_ops(table, dtype);
    }
    indexed(table, dtype);
  }
  for (const DType dtype : kFloats) {
    window_gradients(table, dtype);
    products(table, dtype);
    convolutions(table, dtype);
    library_gradients(table, dtype);
    for (const bool trains : {false, true}) composites(table, dtype, trains, all);
  }
  for (const DType dtype : {DType::f64, DType::f32}) gradients_of_all(table, dtype);
  leaves(table);
}

}  // namespace kb::test
