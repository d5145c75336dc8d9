// Graphs of NaN, infinities, indices outside of a table, and floats outside of an integer's range; graph/ops.cpp
// defines the results.
#include <limits>

#include "compiler/passes/passes.h"
#include "tests/compiler/sample_graphs.h"
#include "tests/simt/class_graphs.h"

namespace kb::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr DType kEdgeFloats[] = {DType::f64, DType::f32, DType::bf16, DType::f16};

// Turns standard normal numbers into edge cases: about a fifth are NaN, some are infinities of both signs, many are
// equal.
Tensor with_edges(Tensor x) {
  Tensor y = floor(x * 2.0);
  y = select(x > 1.5, full_like(x, kInfinity), y);
  y = select(x < -1.5, full_like(x, -kInfinity), y);
  return select(gt(x, 0.2), select(x < 0.75, full_like(x, kNan), y), y);
}

void of_one_element(KernelGraphs& graphs) {
  for (const DType dtype : kEdgeFloats) {
    Graph graph;
    const Tensor x = with_edges(input_of(graph, {1003}, dtype)), z = with_edges(input_of(graph, {1003}, dtype, "z"));
    output("larger", maximum(x, z));
    output("smaller", minimum(x, z));
    output("relu", relu(x));
    output("leaky", leaky_relu(x));
    output("clamped", clamp(x, -1.0, 2.0));
    output("size", abs(x));
    graphs.add_exact(std::string(name(dtype)), graph, on_gpu(tolerance_of(dtype)));
  }
}

// Compares clamped integers with their operands, which is where ptxas errs (compiler/print/cuda_prelude.cpp).
void clamped_integers(KernelGraphs& graphs) {
  Graph graph;
  const Tensor x = input_of(graph, {1003}, DType::i32) - 2.0, z = input_of(graph, {1003}, DType::i32, "z") - 1.0;
  const auto compared = [&](const std::string& which, Tensor value, Tensor low, Tensor high) {
    output(which + "_is_low", eq(value, low));
    output(which + "_is_high", eq(value, high));
    output(which + "_is_not", ne(value, high));
  };
  for (const double high : {1.0, 2.0, 9.0})
    compared("clamped" + std::to_string(static_cast<int>(high)), clamp(x, 0, high), x, full_like(x, high));
  compared("smaller", maximum(minimum(x, z), 0.0), x, z);
  compared("larger", maximum(maximum(x, z), 0.0), x, z);
  compared("chosen", select(gt(select(x < z, x, z), 0.0), select(x < z, x, z), full_like(x, 0.0)), x, z);
  compared("limited", minimum(maximum(x, 0.0), z), x, z);
  graphs.add_exact("clamped integers", graph, on_gpu(0));
}

void casts(KernelGraphs& graphs) {
  for (const DType dtype : kEdgeFloats) {
    Graph graph;
    const Tensor x = input_of(graph, {517}, dtype);
    const auto all = [&](const std::string& which, Tensor from) {
      for (const DType to : tensor_dtypes([](DType t) { return !is_float(t); }))
        output(which + "_" + std::string(name(to)), cast(from, to));
    };
    all("edges", with_edges(x));
    all("small", x * 3.0);
    all("bytes", x * 200.0);
    if (dtype != DType::f16)
      for (const double scale : {2147483648.0, 4294967296.0, 1e25}) all("by" + std::to_string(scale), x * scale);
    graphs.add_exact("casts of " + std::string(name(dtype)), graph, on_gpu(0));
  }
}

void extremes(KernelGraphs& graphs) {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16})
    for (const Dims& shape : turns<Dims>(dtype, {{5, 3}, {5, 10}, {3, 1000}, {64, 5}, {40, 40}, {2, 20001}})) {
      Graph graph;
      for (const int64_t axis : {0, 1}) {
        const std::string at = std::to_string(axis);
        const Tensor x = with_edges(input_of(graph, shape, dtype, "x" + at));
        output("at" + at, argmax(x, axis));
        output("max" + at, max(x, {axis}));
        output("min" + at, min(x, {axis}));
        output("all_nan" + at, argmax(x + full_like(x, kNan), axis));
        if (dtype == DType::f32) output("key" + at, order_key(x));
      }
      if (shape[1] == 10 || shape[1] == 1000) {
        const Tensor x = with_edges(input_of(graph, shape, dtype, "x"));
        const TopK top = topk(x, 3);
        output("top", top.value);
        output("place", top.index);
        if (shape[1] == 10) {
          const Sorted sorted = sort(x);
          output("sorted", sorted.value);
          output("sorted_place", sorted.index);
        }
      }
      graphs.add_exact("argmax " + std::string(name(dtype)) + " " + shape_name(shape), graph, on_gpu(0));
    }
}

void pools(KernelGraphs& graphs) {
  const Window windows[] = {{.kernel = {2, 2}, .stride = {2, 2}},
                            {.kernel = {3, 3}, .stride = {2, 1}, .padding = {1, 1}},
                            {.kernel = {5, 2}, .stride = {1, 2}, .padding = {2, 0}},
                            {.kernel = {17, 16}, .stride = {4, 2}, .padding = {8, 0}}};
  for (const Window& window : windows) {
    Graph graph;
    const Tensor x = input_of(graph, {2, 3, 9, 20}), e = with_edges(x);
    const MaxPool pool = max_pool_with_index(e, window, {2, 3});
    output("value", pool.value);
    output("index", pool.index);
    const Tensor dy = input_of(graph, pool.value.shape(), DType::f32, "dy");
    const Tensor dx = gradients(sum(pool.value * dy), {e})[0];
    output("dx", dx);
    output("ddy", gradients(sum(dx * x), {dy})[0]);
    // Some of the indices 0, 2, 4 and 255 or -1 name no tap of the window, or one in the padding.
    const Tensor at = input(graph, "at", pool.index.dtype(), pool.index.shape(), "");
    const Tensor any = select(eq(at, 3.0), full_like(at, at.dtype() == DType::u8 ? 255 : -1), at * 2.0);
    Attrs attrs = graph.node(pool.value.value()).attrs;
    output("taken", {graph, graph.add(Op::take_at_index, {x.value(), any.value()}, attrs)});
    attrs.set("input_size", Ints{9, 20});
    output("added", {graph, graph.add(Op::max_pool_grad, {dy.value(), any.value()}, attrs)});
    graphs.add("pool " + shape_name(window.kernel), graph);
  }
}

// Turns 0, 1, 2, 3 into indices of 40 rows: two of them name a row; the others are the least i32, and 40, one past the
// last.
Tensor some_outside(Tensor at) {
  const Tensor far = select(eq(at, 3.0), full_like(at, 40), at * 13.0);
  return select(eq(at, 0.0), full_like(at, -2147483648.0), far - cast(eq(at, 1.0), DType::i32));
}

void rows(KernelGraphs& graphs) {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::i32, DType::u8, DType::boolean})
    for (const int64_t features : turns<int64_t>(dtype, {1, 9, 64})) {
      Graph graph;
      const Tensor at = some_outside(input(graph, "at", DType::i32, {3, 41}, ""));
      const Tensor table = input_of(graph, {40, features}, dtype, "table");
      const Tensor taken = gather(table, at);
      output("rows", taken);
      if (is_float(dtype)) {
        const Tensor dy = input_of(graph, taken.shape(), dtype, "dy"), x = input_of(graph, taken.shape(), dtype, "x");
        output("table_gradient", gradients(sum(cast(taken * dy, DType::f32)), {table})[0]);
        const Tensor added = scatter_add(at, x, 40);
        output("added", added);
        output("x_gradient", gradients(sum(cast(added * added, DType::f32)), {x})[0]);
      }
      graphs.add("rows of " + std::string(name(dtype)) + " " + std::to_string(features), graph,
                 on_gpu(is_float(dtype) ? tolerance_of(dtype) : 0));
    }
  Graph graph;  // this graph is point-wise, so that a CPU's code is compared too
  const Tensor at = some_outside(input(graph, "at", DType::i32, {3, 41}, ""));
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::i32, DType::u8, DType::boolean})
    for (const int64_t features : {1, 9, 64}) {
      const std::string what = std::string(name(dtype)) + std::to_string(features);
      output(what, gather(input_of(graph, {40, features}, dtype, what + "t"), at));
    }
  output("hot", one_hot(at, 40));
  graphs.add_exact("rows", graph);
}

void losses(KernelGraphs& graphs) {
  for (const int64_t classes : {3, 10, 300}) {
    Graph graph;
    const Tensor x = input_of(graph, {37, classes});
    const Tensor labels = input(graph, "labels", DType::i32, {37}, "");  // labels are 0 to 3
    const Tensor other = logical_not(cast(one_hot(labels, classes), DType::boolean));
    const Tensor logits = select(bit_and(other, x > 0.5), full_like(x, -kInfinity), x);
    const Tensor beyond = labels + static_cast<double>(classes - 2);
    const auto loss = [&](const std::string& which, Tensor values) {
      output(which, values);
      output(which + "_gradient", gradients(sum(values), {x})[0]);
    };
    loss("without", cross_entropy(logits, clamp(labels, 0, static_cast<double>(classes - 1))));
    loss("unknown", cross_entropy(x, beyond));
    output("smoothed", cross_entropy(logits, clamp(labels, 0, static_cast<double>(classes - 1)), 0.1));
    graphs.add("cross-entropy of " + std::to_string(classes), graph);
  }
}

}  // namespace

void equalities_at_edges(KernelGraphs& graphs) {
  clamped_integers(graphs);
  losses(graphs);
}

void values_at_edges(KernelGraphs& graphs) {
  of_one_element(graphs);
  casts(graphs);
  extremes(graphs);
  pools(graphs);
  rows(graphs);
  equalities_at_edges(graphs);
}

}  // namespace kb::test
