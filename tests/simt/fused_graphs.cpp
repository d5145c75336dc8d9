// Graphs whose launches join a reduction to what stands before and behind it: chains of batch norm, and what a GPU
// joins beyond a CPU.
#include "graph/layers.h"
#include "tests/compiler/sample_graphs.h"
#include "tests/simt/class_graphs.h"

namespace kb::test {

void batch_norm_chains(KernelGraphs& graphs) {
  for (const Dims& shape : std::vector<Dims>{{96, 32}, {50, 6}, {6, 32, 5, 7}, {3, 5, 4, 4}, {20, 64, 9, 9}}) {
    Graph graph;
    Tensor x = input_of(graph, shape), r = input_of(graph, shape, DType::f32, "r"),
           dz = input_of(graph, shape, DType::f32, "dz");
    Tensor z = relu(batch_norm("bn", x) + r);
    output("z", z);
    const std::vector<Tensor> d =
        gradients(sum(z * dz), {x, r, Tensor(graph, graph.read("bn.weight")), Tensor(graph, graph.read("bn.bias"))});
    for (size_t i = 0; i < d.size(); ++i) output("d" + std::to_string(i), d[i]);
    graphs.add(shape_name(shape), graph, on_gpu(1e-4));
  }
}

// Adds the gradient of a residual block, which is written and added to the sums of its columns in one pass.
void written_columns(KernelGraphs& graphs) {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16})
    for (const Dims& shape : std::vector<Dims>{{12, 5, 5, 32}, {3000, 1, 1, 40}, {2, 3, 3, 5}}) {
      Graph graph;
      const Tensor d = select(input_of(graph, shape, dtype, "z") > 0.0,
                              input_of(graph, shape, dtype) + input_of(graph, shape, dtype, "y"), 0.0);
      const Tensor wide = cast(d, dtype == DType::f64 ? dtype : DType::f32);
      output("d", d);
      output("bias", sum(wide, {0, 1, 2}));
      output("weight", sum(wide * cast(input_of(graph, shape, dtype, "x2"), wide.dtype()), {0, 1, 2}));
      graphs.add(std::string(name(dtype)) + " " + shape_name(shape), graph, on_gpu(tolerance_of(dtype)));
    }
}

// Adds residual blocks whose masks are kept as bits, beside a mean over each image; backward adds them up over columns,
// or not. Rows have one byte of bits or many. A product keeps forward and backward apart.
void packed_masks(KernelGraphs& graphs) {
  for (const DType dtype : {DType::bf16, DType::f16})
    for (const Dims& shape : std::vector<Dims>{{12, 5, 5, 32}, {700, 1, 1, 40}, {3, 2, 3, 8}, {2, 3, 3, 264}}) {
      Graph graph;
      const Tensor z = relu(input_of(graph, shape, dtype) + input_of(graph, shape, dtype, "y"));
      const Tensor product =
          matmul(reshape(z, {-1, shape.back()}), input_of(graph, {shape.back(), shape.back()}, dtype, "w"));
      const Tensor d = select(z > 0.0, input_of(graph, shape, dtype, "dz") + reshape(product, shape), 0.0);
      output("z", z);
      output("pooled", mean(cast(z, DType::f32), {1, 2}));
      output("d", d);
      if (shape[0] != 3) output("bias", sum(cast(d, DType::f32), {0, 1, 2}));
      graphs.add(std::string(name(dtype)) + " " + shape_name(shape), graph, on_gpu(tolerance_of(dtype)));
    }
}

// Adds ResNet's stem: the pool computes what stands before it inside, and its gradient is gathered, written and added
// to the sums of its columns in one pass.
void pools_in_their_launches(KernelGraphs& graphs) {
  for (const DType dtype : {DType::f32, DType::bf16})
    for (const Dims& shape : std::vector<Dims>{{3, 9, 12, 32}, {2, 8, 7, 5}}) {
      Graph graph;
      const Tensor z = relu(input_of(graph, shape, dtype) + input_of(graph, shape, dtype, "y"));
      const Tensor pooled = max_pool_with_index(z, {{3, 3}, {2, 2}, {1, 1}}, {1, 2}).value;
      const Dims& small = pooled.shape();
      const Tensor dy = input_of(graph, small, dtype, "dy") + input_of(graph, small, dtype, "other");
      const Tensor d = gradients(sum(pooled * dy), {z})[0];
      output("pooled", pooled);
      output("d", d);
      output("sum", sum(cast(d, DType::f32), {0, 1, 2}));
      graphs.add(std::string(name(dtype)) + " " + shape_name(shape), graph, on_gpu(tolerance_of(dtype)));
    }
}

}  // namespace kb::test
