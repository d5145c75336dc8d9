#include "runtime/cuda/product_example.h"

#include <fmt/format.h>

#include <numeric>

#include "graph/functions.h"

namespace kb::cuda {
namespace {

void add_output(const char* name, Tensor value) { value.graph().outputs.push_back({name, value.value()}); }

// Adds what a block reads of its convolution's result: batch norm's moments.
void add_forward(Tensor y, const Ints& pixels) {
  const Moments m = moments(cast(y, DType::f32), pixels);
  add_output("y", y);
  add_output("mean", m.mean);
  add_output("variance", m.variance);
}

// Adds what the block before reads of the gradient: the mask of its relu, the gradient that came past the convolution,
// and the sums of its batch norm.
void add_backward(Tensor dx, const Ints& pixels) {
  const auto beside = [&](const char* name) { return input(dx.graph(), name, dx.dtype(), dx.shape()); };
  const Tensor d = select(beside("z") > 0.0, dx + beside("other"), 0.0), wide = cast(d, DType::f32);
  add_output("d", d);
  add_output("bias", sum(wide, pixels));
  add_output("weight", sum(wide * cast(beside("x2"), DType::f32), pixels));
}

}  // namespace

Graph example_of(const Graph& from, Node product) {
  Graph graph("product");
  for (Value& operand : product.inputs) {
    const Type& type = from.type(operand);
    operand = input(graph, fmt::format("x{}", graph.nodes.size()), type.dtype, type.shape).value();
  }
  const Op op = product.op;
  if (op == Op::conv2d_weight_grad) {
    product.outputs[0].dtype = graph.type(product.inputs[0]).dtype;
    product.attrs.set("dtype", product.outputs[0].dtype);
  }
  Ints pixels(product.type().shape.size() - 1);
  std::iota(pixels.begin(), pixels.end(), 0);
  const Tensor result(graph, {graph.append(from, std::move(product)), 0});
  if (op == Op::conv2d) add_forward(result, pixels);
  if (op == Op::conv2d_input_grad) add_backward(result, pixels);
  if (op == Op::conv2d_weight_grad) add_output("dw", result);
  return graph;
}

}  // namespace kb::cuda
