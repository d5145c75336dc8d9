#include "tests/compiler/sample_graphs.h"

namespace kb::test {

Tensor input_of(Graph& graph, const Dims& shape, DType dtype, const std::string& name) {
  return shape.empty() ? scalar_input(graph, name, dtype) : input(graph, name, dtype, shape, "");
}

void output(const std::string& name, Tensor value) {
  value.graph().outputs.push_back({name, value.value(), Merge::sum});
}

double tolerance_of(DType dtype) {
  if (dtype == DType::f64) return 1e-11;
  if (dtype == DType::bf16) return 2e-2;
  return dtype == DType::f16 ? 3e-3 : 2e-5;
}

Tensor rounded_gradient(Tensor x, Tensor dy) {
  Graph& graph = x.graph();
  const Tensor wide = convolution_weight_grad(x, dy, {{1, 1}}, 1);
  Attrs attrs = graph.node(wide.value()).attrs;
  attrs.set("dtype", x.dtype());
  return {graph, graph.add(Op::conv2d_weight_grad, {x.value(), dy.value()}, std::move(attrs))};
}

std::string shape_name(const Dims& shape) {
  std::string name;
  for (const int64_t extent : shape) name += (name.empty() ? "" : " x ") + std::to_string(extent);
  return name;
}

Graph broadcast_graph(const Dims& shape) {
  Graph graph;
  Tensor x = input_of(graph, shape), y = x;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    Dims small(shape.size(), 1);
    small[axis] = shape[axis];
    y = y * input_of(graph, small, DType::f32, "b" + std::to_string(axis)) + 0.25;
  }
  output("y", relu(y) + x);
  output("z", exp(x) * sigmoid(y));
  return graph;
}

std::vector<NamedGraph> window_graphs() {
  struct Case {
    Dims shape;
    Ints axes;
    Window window;
  };
  const std::vector<Case> cases = {{{2, 3, 8, 9}, {2, 3}, {{2, 2}, {2, 2}, {0, 0}, {1, 1}}},
                                   {{2, 11, 12, 20}, {1, 2}, {{3, 3}, {2, 2}, {1, 1}, {1, 1}}},
                                   {{2, 2, 7, 6, 16}, {2, 3}, {{3, 2}, {1, 2}, {1, 0}, {1, 1}}},
                                   {{1, 2, 9, 9}, {2, 3}, {{2, 3}, {2, 1}, {0, 2}, {2, 2}}}};
  std::vector<NamedGraph> graphs;
  for (const Case& c : cases) {
    Graph& graph = graphs.emplace_back(NamedGraph{shape_name(c.shape), Graph()}).graph;
    Tensor x = input_of(graph, c.shape);
    const MaxPool pool = max_pool_with_index(x, c.window, c.axes);
    output("value", pool.value);
    output("index", pool.index);
    const Attrs window = Attrs({{"kernel", c.window.kernel},
                                {"stride", c.window.stride},
                                {"padding", c.window.padding},
                                {"dilation", c.window.dilation},
                                {"axes", c.axes}});
    Attrs back = window;
    back.set("input_size", Ints{c.shape[static_cast<size_t>(c.axes[0])], c.shape[static_cast<size_t>(c.axes[1])]});
    const Value dy = input_of(graph, pool.value.shape(), DType::f32, "dy").value();
    const auto add = [&](const char* name, Op op, std::vector<Value> inputs, const Attrs& attrs) {
      output(name, {graph, graph.add(op, std::move(inputs), attrs)});
    };
    add("sums", Op::sum_pool, {x.value()}, window);
    add("spread", Op::sum_pool_grad, {dy}, back);
    add("back", Op::max_pool_grad, {dy, pool.index.value()}, back);
    add("taken", Op::take_at_index, {x.value(), pool.index.value()}, window);
  }
  return graphs;
}

std::vector<NamedGraph> crop_graphs() {
  const std::vector<std::pair<Dims, Ints>> cases = {
      {{5, 3, 9, 20}, {9, 20}}, {{4, 2, 6, 33}, {4, 40}}, {{3, 8, 8}, {7, 5}}};
  std::vector<NamedGraph> graphs;
  for (const auto& [shape, size] : cases) {
    Graph& graph = graphs.emplace_back(NamedGraph{"crop " + shape_name(shape), Graph()}).graph;
    Tensor window = input_of(graph, {shape[0], 3}, DType::i32, "window") - 2;
    output("floats", crop(input_of(graph, shape), window, size) * 0.5);
    Tensor bytes = input_of(graph, shape, DType::u8, "bytes");
    output("bytes", cast(crop(bytes, window, size), DType::f32) * 2.0);
    output("plain", crop(bytes, window, size));
  }
  return graphs;
}

}  // namespace kb::test
