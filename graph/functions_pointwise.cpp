#include <cmath>

#include "graph/building.h"

namespace kb {
namespace {

// Returns the dtype that a number among `operands` gets: that of the tensors beside it. The condition of a select does
// not count.
DType number_dtype(Op op, const std::vector<Operand>& operands) {
  for (size_t i = op == Op::select ? 1 : 0; i < operands.size(); ++i)
    if (operands[i].tensor.valid()) return operands[i].tensor.dtype();
  return DType::f32;
}

Tensor filled(std::string_view op, Graph& graph, DType dtype, double value, const Dims& shape) {
  return {
      graph,
      graph.add(Op::constant, {},
                {{"dtype", dtype}, {"shape", shape}, {"values", std::vector<double>{number_in(op, dtype, value)}}})};
}

// Adds the node of a point-wise op. `function` is the DSL function that calls this one.
Tensor apply(Op op, const std::vector<Operand>& arguments, Where where, Where function = Where::current()) {
  const Call call(where, function);
  if (!is_pointwise(op) || op == Op::cast)
    report("pointwise", {"the op cannot be called so", "an op described by a scalar formula", std::string(name(op)),
                         op == Op::cast ? "cast(x, dtype)" : "call it by its name"});
  std::vector<Tensor> tensors;
  for (const Operand& operand : arguments)
    if (!operand.is_number) tensors.push_back(operand.tensor);
  require_same_graph(name(op), tensors);
  const Dims shape = broadcast_shape(name(op), tensors);
  const DType dtype = number_dtype(op, arguments);
  Graph& graph = tensors.front().graph();
  std::vector<Value> values;
  for (const Operand& operand : arguments) {
    if (operand.is_number) {
      values.push_back(filled(name(op), graph, dtype, operand.number, shape).value());
    } else {
      values.push_back(broadcast_to(operand.tensor, shape).value());
    }
  }
  return {graph, graph.add(op, std::move(values))};
}

}  // namespace

Tensor pointwise(Op op, std::vector<Operand> arguments, Where where) { return apply(op, arguments, where); }

Tensor splat(Graph& graph, DType dtype, double value, Dims shape, Where where) {
  const Call call(where);
  return filled("constant", graph, dtype, value, shape);
}

Tensor constant(Graph& graph, DType dtype, Dims shape, std::vector<double> values, Where where) {
  const Call call(where);
  for (double& value : values) value = number_in("constant", dtype, value);
  return {graph,
          graph.add(Op::constant, {}, {{"dtype", dtype}, {"shape", std::move(shape)}, {"values", std::move(values)}})};
}

Tensor full_like(Tensor x, double value, Where where) {
  const Call call(where);
  require_same_graph("full_like", {x});
  return filled("full_like", x.graph(), x.dtype(), value, x.shape());
}

#define KB_UNARY(name, ...) \
  Tensor name(Tensor x, Where where) { return apply(Op::name, {x}, where); }
#define KB_BINARY(name, ...) \
  Tensor name(Operand a, Operand b, Where where) { return apply(Op::name, {a, b}, where); }
#include "graph/pointwise_ops.inc"

Tensor operator+(Operand a, Operand b) { return apply(Op::add, {a, b}, a.where); }
Tensor operator-(Operand a, Operand b) { return apply(Op::sub, {a, b}, a.where); }
Tensor operator*(Operand a, Operand b) { return apply(Op::mul, {a, b}, a.where); }
Tensor operator/(Operand a, Operand b) { return apply(Op::div, {a, b}, a.where); }
Tensor operator-(Operand a) { return apply(Op::neg, {a}, a.where); }
Tensor operator<(Operand a, Operand b) { return apply(Op::lt, {a, b}, a.where); }
Tensor operator<=(Operand a, Operand b) { return apply(Op::le, {a, b}, a.where); }
Tensor operator>(Operand a, Operand b) { return apply(Op::gt, {a, b}, a.where); }
Tensor operator>=(Operand a, Operand b) { return apply(Op::ge, {a, b}, a.where); }

Tensor select(Tensor condition, Operand a, Operand b, Where where) {
  return apply(Op::select, {condition, a, b}, where);
}

Tensor cast(Tensor x, DType dtype, Where where) {
  const Call call(where);
  require_same_graph("cast", {x});
  return x.dtype() == dtype ? x : make(Op::cast, {x}, {{"dtype", dtype}});
}

Tensor leaky_relu(Tensor x, double slope, Where where) {
  const Call call(where);
  require_same_graph("leaky_relu", {x});
  return select(gt(x, 0.0), x, x * slope);
}

Tensor clamp(Tensor x, double low, double high, Where where) {
  const Call call(where);
  require_same_graph("clamp", {x});
  if (!(low <= high))
    report("clamp",
           {"low lies above high", "low <= high", "low " + number_text(low) + ", high " + number_text(high), ""});
  // minimum(maximum(...)) would give gradient 1/2 at the edges.
  return select(lt(x, low), low, select(gt(x, high), high, x));
}

}  // namespace kb
