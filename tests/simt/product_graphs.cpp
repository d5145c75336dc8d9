// Graphs with convolutions of one tap, which are products of matrices in launches of our own: alone, with moments of
// the result, and with what backward computes from it.
#include "tests/compiler/sample_graphs.h"
#include "tests/simt/class_graphs.h"

namespace kb::test {
namespace {

const Window kOneTap{{1, 1}};

struct Shape {
  int64_t samples, height, width, in, out;
};

std::string text(const char* what, DType dtype, const Shape& s) {
  return std::string(what) + " " + std::string(name(dtype)) + " " +
         shape_name({s.samples, s.height, s.width, s.in, s.out});
}

// Batch norm's moments are of the rounded result.
void with_moments(KernelGraphs& graphs, DType dtype, const Shape& s) {
  Graph graph;
  const Tensor y = convolution(input_of(graph, {s.samples, s.in, s.height, s.width}, dtype),
                               input_of(graph, {s.out, s.in, 1, 1}, dtype, "w"), kOneTap);
  const Moments m = moments(cast(y, DType::f32), {0, 2, 3});
  output("y", y);
  output("mean", m.mean);
  output("variance", m.variance);
  graphs.add(text("moments", dtype, s), graph, on_gpu(tolerance_of(dtype)));
}

void alone(KernelGraphs& graphs, DType dtype, const Shape& s) {
  Graph graph;
  const Tensor y = convolution(input_of(graph, {s.samples, s.in, s.height, s.width}, dtype),
                               input_of(graph, {s.out, s.in, 1, 1}, dtype, "w"), kOneTap);
  output("z", relu(y) * 2.0);
  graphs.add(text("alone", dtype, s), graph, on_gpu(tolerance_of(dtype)));
}

// The gradient of a residual block's input, through the mask of the block before, with the sums of its batch norm.
void backward(KernelGraphs& graphs, DType dtype, const Shape& s) {
  Graph graph;
  const Dims small{s.samples, s.in, s.height, s.width};
  const Tensor dx =
      convolution_input_grad(input_of(graph, {s.samples, s.out, s.height, s.width}, dtype, "dy"),
                             input_of(graph, {s.out, s.in, 1, 1}, dtype, "w"), kOneTap, 1, {s.height, s.width}, s.in);
  const Tensor d = select(input_of(graph, small, dtype, "z") > 0.0, dx + input_of(graph, small, dtype, "other"), 0.0);
  const Tensor wide = cast(d, DType::f32);
  output("d", d);
  output("bias", sum(wide, {0, 2, 3}));
  output("weight", sum(wide * cast(input_of(graph, small, dtype, "x2"), DType::f32), {0, 2, 3}));
  graphs.add(text("backward", dtype, s), graph, on_gpu(tolerance_of(dtype)));
}

// The sums of a gradient in f32 are rounded nowhere; tolerance_of(bf16) would not find it.
void of_filters(KernelGraphs& graphs, DType dtype, const Shape& s, bool rounded = false) {
  Graph graph;
  const Tensor x = input_of(graph, {s.samples, s.in, s.height, s.width}, dtype);
  const Tensor dy = input_of(graph, {s.samples, s.out, s.height, s.width}, dtype, "dy");
  const Tensor dw = rounded ? rounded_gradient(x, dy) : convolution_weight_grad(x, dy, kOneTap, 1);
  output("dw", dw);
  output("half", dw * 0.5);
  graphs.add(text(rounded ? "rounded filters" : "filters", dtype, s), graph,
             on_gpu(tolerance_of(rounded ? dtype : DType::f32)));
}

constexpr Shape kRagged{2, 16, 9, 72, 136};

void in_bf16(KernelGraphs& graphs, const Shape& s) {
  with_moments(graphs, DType::bf16, s);
  backward(graphs, DType::bf16, s);
  of_filters(graphs, DType::bf16, s);
}

}  // namespace

void products(KernelGraphs& graphs) {
  graphs.use_products();
  for (const Shape& s : {Shape{2, 5, 3, 16, 24}, kRagged, Shape{9, 10, 10, 40, 16}, Shape{1, 9, 16, 64, 64}})
    in_bf16(graphs, s);
  alone(graphs, DType::bf16, kRagged);
  backward(graphs, DType::f16, kRagged);
  of_filters(graphs, DType::f16, kRagged, true);
}

void products_by_warps(KernelGraphs& graphs) {
  graphs.use_products_by_warps();
  in_bf16(graphs, kRagged);
}

}  // namespace kb::test
