#include "graph/interpreter.h"

#include <numeric>

#include <fmt/format.h>

#include "graph/interpreter_ops.h"

namespace kb {
namespace {

Array zero_array(const Type& type) { return {type, std::vector<double>(static_cast<size_t>(type.elements()), 0.0)}; }

void round_array(Array& array, bool round_floats) {
  const DType dtype = array.type.dtype;
  if (dtype == DType::f64 || (is_float(dtype) && !round_floats)) return;
  if (dtype == DType::f32) {
    for (double& v : array.data) v = static_cast<double>(static_cast<float>(v));
  } else {
    for (double& v : array.data) v = round_to(dtype, v);
  }
}

void copy_input(const oracle::Work& work) { work.out[0].data = work.in[0]->data; }

// The functions of the classes of ops stand in the order of OpClass.
constexpr void (*kRunners[])(const oracle::Work&) = {oracle::leaf,      oracle::pointwise, oracle::movement,
                                                     oracle::reduction, oracle::window,    oracle::indexed,
                                                     oracle::library,   copy_input};

std::vector<Array> evaluate(const Node& node, std::span<const Array* const> inputs, bool round) {
  std::vector<Array> out;
  for (const Type& type : node.outputs) out.push_back(zero_array(type));
  kRunners[static_cast<size_t>(info(node.op).cls)]({node, inputs, out});
  for (Array& array : out) round_array(array, round);
  return out;
}

const Array& bound(const Node& node, const Bindings& bindings) {
  const std::string& key = node.attrs.text("name");
  const char* what = node.op == Op::input ? "input" : "variable";
  const auto found = bindings.find(key);
  if (found == bindings.end())
    throw Error(fmt::format("interpret: nothing is bound to {} \"{}\"\n  expected {}\n  got      no binding", what, key,
                            to_string(node.type())));
  const Array& array = found->second;
  if (array.type != node.type() || static_cast<int64_t>(array.data.size()) != array.type.elements())
    throw Error(
        fmt::format("interpret: the binding of {} \"{}\" has another type\n  expected {}\n  got      {} with {} "
                    "elements",
                    what, key, to_string(node.type()), to_string(array.type), array.data.size()));
  if (node.attrs.has("below")) {
    const auto below = static_cast<double>(node.attrs.integer("below"));
    for (const double value : array.data)
      if (!(value >= 0 && value < below))
        throw Error(
            fmt::format("interpret: the binding of input \"{}\" holds {}, expected 0 to {}", key, value, below - 1));
  }
  return array;
}

// Evaluates the nodes that `wanted` depends on. An array is freed after its last use.
class Evaluation {
 public:
  Evaluation(const Graph& graph, const Bindings& bindings, const InterpretOptions& options)
      : graph_(graph),
        bindings_(bindings),
        options_(options),
        uses_(graph.nodes.size(), 0),
        arrays_(graph.nodes.size()) {}

  std::vector<Array> run(std::span<const Value> wanted) {
    count_uses(wanted);
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (uses_[i] > 0) run_node(i);
    }
    std::vector<Array> result;
    for (const Value& v : wanted) result.push_back(array(v));
    return result;
  }

 private:
  void count_uses(std::span<const Value> wanted) {
    for (const Value& v : wanted) ++uses_[static_cast<size_t>(v.node)];
    for (size_t i = graph_.nodes.size(); i-- > 0;) {
      if (uses_[i] == 0) continue;
      for (const Value& v : graph_.nodes[i].inputs) ++uses_[static_cast<size_t>(v.node)];
    }
  }

  void run_node(size_t index) {
    const Node& node = graph_.nodes[index];
    if (node.op == Op::input || node.op == Op::variable) {
      arrays_[index] = {bound(node, bindings_)};
      round_array(arrays_[index][0], options_.round);
      return;
    }
    std::vector<const Array*> inputs;
    for (const Value& v : node.inputs) inputs.push_back(&array(v));
    arrays_[index] = evaluate(node, inputs, options_.round);
    for (const Value& v : node.inputs) {
      if (--uses_[static_cast<size_t>(v.node)] == 0) arrays_[static_cast<size_t>(v.node)].clear();
    }
  }

  const Array& array(const Value& v) const { return arrays_[static_cast<size_t>(v.node)][static_cast<size_t>(v.out)]; }

  const Graph& graph_;
  const Bindings& bindings_;
  const InterpretOptions& options_;
  std::vector<int64_t> uses_;
  std::vector<std::vector<Array>> arrays_;
};

}  // namespace

std::vector<Array> interpret_values(const Graph& graph, const Bindings& bindings, std::span<const Value> values,
                                    const InterpretOptions& options) {
  return Evaluation(graph, bindings, options).run(values);
}

Interpretation interpret(const Graph& graph, const Bindings& bindings, const InterpretOptions& options) {
  std::vector<Value> wanted;
  for (const Output& output : graph.outputs) wanted.push_back(output.value);
  for (const StateWrite& write : graph.writes) wanted.push_back(write.value);
  std::vector<Array> arrays = interpret_values(graph, bindings, wanted, options);
  Interpretation result;
  size_t next = 0;
  for (const Output& output : graph.outputs) result.outputs[output.name] = std::move(arrays[next++]);
  for (const StateWrite& write : graph.writes) result.writes[write.variable] = std::move(arrays[next++]);
  return result;
}

std::vector<Array> evaluate_node(const Node& node, std::span<const Array> inputs, const InterpretOptions& options) {
  std::vector<const Array*> pointers;
  for (const Array& array : inputs) pointers.push_back(&array);
  return evaluate(node, pointers, options.round);
}

namespace oracle {

Ints row_major(const Dims& shape) {
  Ints strides(shape.size());
  int64_t stride = 1;
  for (size_t a = shape.size(); a-- > 0; stride *= shape[a]) strides[a] = stride;
  return strides;
}

double extent_along(const Dims& shape, const Ints& axes) {
  double product = 1;
  for (const int64_t axis : axes) product *= static_cast<double>(shape[static_cast<size_t>(axis)]);
  return product;
}

void leaf(const Work& work) {
  std::vector<double>& out = work.out[0].data;
  const Attrs& attrs = work.node.attrs;
  const Op op = work.node.op;
  if (op == Op::random_bits) return random_bits(work);
  if (op == Op::constant) {
    const std::vector<double>& values = attrs.reals("values");
    for (size_t i = 0; i < out.size(); ++i) out[i] = values.size() == 1 ? values[0] : values[i];
  } else if (op == Op::iota) {
    std::iota(out.begin(), out.end(), 0.0);
  } else if (op == Op::count) {
    out[0] = extent_along(work.in[0]->type.shape, attrs.ints("axes"));
  } else {
    ensure(op == Op::extent, "interpreter: a leaf without a value of its own");
    out[0] = static_cast<double>(element_count(attrs.ints("extents")));
  }
}

}  // namespace oracle
}  // namespace kb
