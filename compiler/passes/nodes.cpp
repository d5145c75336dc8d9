#include "compiler/passes/nodes.h"

namespace kb {

Value reshaped(Graph& graph, Value value, Dims shape) {
  return graph.add(Op::reshape, {value}, {{"shape", std::move(shape)}, {"names", std::string()}});
}

Value joined(Graph& graph, const std::vector<Value>& values) {
  return values.size() == 1 ? values[0] : graph.add(Op::concat, values, {{"axis", int64_t{0}}});
}

Value part_of(Graph& graph, Value vector, int64_t begin, int64_t end) {
  return graph.add(Op::slice, {vector}, {{"begin", Ints{begin}}, {"end", Ints{end}}, {"step", Ints{1}}});
}

Value constant_zeros(Graph& graph, DType dtype, Dims shape) {
  return graph.add(Op::constant, {},
                   {{"dtype", dtype}, {"shape", std::move(shape)}, {"values", std::vector<double>{0.0}}});
}

Value step_scalar(Graph& graph, const std::string& name, DType dtype) {
  if (const Value known = graph.find_input(name); known.valid()) return known;
  return graph.add(
      Op::input, {},
      {{"name", name}, {"kind", std::string("scalar")}, {"dtype", dtype}, {"shape", Dims{}}, {"names", std::string()}});
}

}  // namespace kb
