#include "compiler/lower/lower.h"

#include <boost/test/unit_test.hpp>
#include <random>

#include "compiler/passes/passes.h"
#include "tests/compiler/lowered_group.h"
#include "tests/compiler/sample_graphs.h"
#include "tests/support/support.h"

namespace kb::lower_test {

using namespace kb::test;

namespace {

// Returns random extents, most of them at most 10, some larger than a vector of 16 lanes.
Dims random_shape(std::mt19937& random, int64_t rank) {
  Dims shape;
  for (int64_t i = 0; i < rank; ++i) {
    const auto draw = random() % 10;
    shape.push_back(draw == 0 ? 1 : draw < 8 ? 2 + random() % 9 : 16 + random() % 30);
  }
  return shape;
}

Ints random_axes(std::mt19937& random, int64_t rank) {
  Ints axes;
  while (axes.empty())
    for (int64_t a = 0; a < rank; ++a)
      if (random() % 2) axes.push_back(a);
  return axes;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(lower_kernels)

BOOST_AUTO_TEST_CASE(pointwise_with_broadcasts) {
  for (const Dims& shape : std::vector<Dims>{
           {}, {1}, {7}, {16}, {50000}, {3, 16}, {5, 10}, {300, 48}, {2, 3, 5, 7}, {4, 2, 33, 16}, {1, 64}}) {
    check_lowering(broadcast_graph(shape), 2e-5);
  }
}

BOOST_AUTO_TEST_CASE(every_dtype) {
  for (const DType dtype : tensor_dtypes([](DType t) { return t != DType::boolean; })) {
    Graph graph;
    Tensor x = input_of(graph, {5, 37}, dtype), b = input_of(graph, {37}, dtype, "b");
    output("y", x * b + x);
    output("c", cast(x, DType::f32));
    output("s", select(x < b, x, maximum(b, 1.0)));
    if (!is_narrow(dtype)) output("t", sum(x, {0}));
    output("m", max(x, {1}));
    check_lowering(graph, tolerance_of(dtype));
  }
}

BOOST_AUTO_TEST_CASE(movement) {
  Graph graph;
  Tensor x = input_of(graph, {6, 4, 5, 8});
  output("transposed", transpose(x, {0, 2, 3, 1}) * 2.0);
  output("reversed", transpose(x, {3, 2, 1, 0}) + 1.0);
  output("sliced", slice(x, {1, 0, 1, 2}, {6, 4, 5, 8}, {2, 1, 3, 2}) + 1.0);
  output("padded", pad(x * x, {0, 1, 2, 3}, {1, 0, 1, 2}, 0.5) * 3.0);
  output("dilated", pad(x * x, {0, 0, 1, 0}, {0, 0, 2, 0}, 0, {0, 0, 2, 1}) * 3.0);
  output("joined", concat({x * 2.0, exp(x), x}, 2) + 1.0);
  output("folded", reshape(x, {24, 40}) * input_of(graph, {24, 1}, DType::f32, "row"));
  output("refolded", transpose(reshape(x, {6, 2, 2, 40}), {0, 2, 1, 3}) + 1.0);
  output("blocked", transpose(reshape(x, {6, 2, 2, 5, 8}), {0, 1, 3, 4, 2}) * 1.5);
  check_lowering(graph, 1e-6);
}

BOOST_AUTO_TEST_CASE(leaves) {
  Graph graph;
  Tensor x = input_of(graph, {4, 6, 5});
  output("n", x / count(x, {0, 2}));
  output("i", cast(iota(graph, DType::i32, 20), DType::f32) * 0.5);
  output("hot", one_hot(input(graph, "label", DType::i32, {9}, ""), 10));
  output("bits", random_bits(graph, "a", {4, 6, 5}));
  output("dropped", select(random_bits(graph, "b", {4, 6, 5}) < 0x80000000u, x, 0.0));
  output("rows",
         gather(input_of(graph, {11, 3, 4}, DType::f32, "table"), input(graph, "at", DType::i32, {2, 5}, "")) * 2.0);
  check_lowering(graph, 1e-6);
}

BOOST_AUTO_TEST_CASE(crops) {
  for (const NamedGraph& crop : crop_graphs()) check_lowering(crop.graph, 1e-6);
}

BOOST_AUTO_TEST_CASE(sums_over_any_axes) {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    Graph graph;
    const auto rank = static_cast<int64_t>(1 + random() % 4);
    const Dims shape = random_shape(random, rank);
    const Ints axes = random_axes(random, rank);
    Tensor x = input_of(graph, shape), y = input_of(graph, shape, DType::f32, "y");
    output("sum", sum(x * y, axes) * 0.5);
    output("max", max(x, axes));
    output("min", min(x - y, axes));
    output("product", prod(1.0 + x * 0.125, axes));
    const Moments m = moments(x + 3.0, axes);
    output("mean", m.mean);
    output("deviation", sqrt(m.variance + 1e-5));
    check_lowering(graph, 3e-5, static_cast<uint32_t>(round));
  }
}

// A product has no zero, one zero or several zeros among its factors; its gradient has a form for each.
BOOST_AUTO_TEST_CASE(gradients_of_products) {
  for (const auto& [shape, axes] :
       std::vector<std::pair<Dims, Ints>>{{{64, 4}, {1}}, {{5, 33}, {0}}, {{4, 3, 6}, {0, 2}}})
    for (const double share : {0.0, 0.1, 0.3}) {
      Graph graph;
      Tensor x = input_of(graph, shape), y = input_of(graph, shape, DType::f32, "y");
      const Tensor factors = select(abs(y) < share, 0.0, x);
      const Tensor product = prod(factors, axes);
      output("product", product);
      output("gradient", gradients(sum(product * product + product), {factors})[0]);
      check_lowering(graph, 3e-5);
    }
}

BOOST_AUTO_TEST_CASE(large_reductions) {
  for (const auto& [shape, axes] : std::vector<std::pair<Dims, Ints>>{{{3000, 256}, {0}},
                                                                      {{4, 4, 900, 16}, {0, 2}},
                                                                      {{6, 3, 1000}, {0, 2}},
                                                                      {{100000}, {0}},
                                                                      {{70, 3001}, {0}},
                                                                      {{40, 9000}, {1}}}) {
    Graph graph;
    Tensor x = input_of(graph, shape) + 2.0;
    output("sum", sum(x, axes));
    const Moments m = moments(x, axes);
    output("mean", m.mean);
    output("variance", m.variance * 2.0);
    check_lowering(graph, 2e-5);
  }
}

BOOST_AUTO_TEST_CASE(argmax_gives_the_first) {
  for (const Dims& shape : std::vector<Dims>{{5, 10}, {3, 40}, {4, 7, 33}, {64, 5}}) {
    for (int64_t axis = 0; axis < static_cast<int64_t>(shape.size()); ++axis) {
      Graph graph;
      output("at", argmax(floor(input_of(graph, shape) * 2.0), axis));
      check_lowering(graph, 0);
    }
  }
}

BOOST_AUTO_TEST_CASE(dependent_stages) {
  for (const Dims& shape : std::vector<Dims>{{6, 10}, {33, 16}, {5, 300}, {2, 3, 40}}) {
    Graph graph;
    Tensor x = input_of(graph, shape), g = input_of(graph, shape, DType::f32, "g");
    Tensor p = softmax(x);
    output("softmax", p);
    output("back", p * (g - broadcast_to(sum(p * g, {-1}, true), shape)));
    const Moments m = moments(x, {-1});
    Dims kept = shape;
    kept.back() = 1;
    output("normal", (x - reshape(m.mean, kept)) / sqrt(reshape(m.variance, kept) + 1e-5));
    check_lowering(graph, 3e-5);
  }
  Graph graph;
  Tensor logits = input_of(graph, {37, 10}), labels = input(graph, "label", DType::i32, {37}, "");
  output("loss", cross_entropy(logits, labels, 0.1));
  check_lowering(graph, 3e-5);
}

// A row of GPT-2's logits, whose softmax is one launch.
BOOST_AUTO_TEST_CASE(stages_over_a_long_row) {
  Graph graph;
  output("y", softmax(input_of(graph, {1, 50304})));
  check_lowering(graph, 3e-5);
}

BOOST_AUTO_TEST_CASE(windows) {
  for (const NamedGraph& window : window_graphs()) check_lowering(window.graph, 1e-5);
}

BOOST_AUTO_TEST_CASE(scatter_in_index_order) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    Graph graph;
    Tensor at = input(graph, "at", DType::i32, {3, 40}, ""), updates = input_of(graph, {3, 40, 9}, dtype);
    output("table", scatter_add(at, updates, 50));
    check_lowering(graph, tolerance_of(dtype));
  }
}

// The row is sorted by the blocks that hold its 9 greatest elements.
BOOST_AUTO_TEST_CASE(few_elements_of_a_long_row) {
  Graph graph;
  const TopK top = topk(input_of(graph, {2, 600}, DType::u8), 9);
  output("value", top.value);
  output("place", top.index);
  check_lowering(graph, 1e-9);
}

// Only a kernel's arguments change with the minibatch size, not its text.
BOOST_AUTO_TEST_CASE(one_text_for_every_minibatch_size) {
  // A blocked batch norm as the layout pass leaves it, and other shapes.
  const auto text = [](int64_t n, const Target& target) {
    Graph graph;
    const Moments blocked = moments(input_of(graph, {n, 4, 49, 16}, DType::f32, "b"), {0, 2});
    output("blocked", blocked.variance);
    Tensor x = input_of(graph, {n, 6, 5, 32}), scale = input_of(graph, {32}, DType::f32, "scale");
    output("y", relu(x * scale));
    output("column", sum(x, {0, 1, 2}));
    output("plane", moments(x, {0, 2, 3}).mean);
    output("all", sum(x * x));
    output("p", softmax(reshape(x, {n, 960})));
    output("bits", random_bits(graph, "drop", {n, 7}));
    output("pool", max_pool_with_index(x, {{2, 2}, {2, 2}, {0, 0}, {1, 1}}, {1, 2}).value);
    output("mean", mean(x, {0}));
    output("table", scatter_add(input(graph, "at", DType::i32, {n}, ""), x, 40));
    return lowered_text(graph, target);
  };
  for (const Target& target : {generic_cpu_target(), gpu_target("sm_90")})
    BOOST_TEST(first_difference(text(16, target), text(48, target)) == "");
}

// On a CPU the sizes of planes and the numbers of channels of blocked layers are arguments of a kernel, not constants.
BOOST_AUTO_TEST_CASE(layers_of_all_sizes_share_kernels) {
  const auto text = [](int64_t blocks, int64_t plane) {
    Graph graph;
    Tensor x = input_of(graph, {8, blocks, plane, 16}),
           scale = input_of(graph, {1, blocks, 1, 16}, DType::f32, "scale");
    output("y", relu(x * scale));
    output("mean", moments(x, {0, 2}).mean);
    return lowered_text(graph, generic_cpu_target());
  };
  BOOST_TEST(first_difference(text(4, 49), text(12, 196)) == "");
}

// On a CPU the length of a sequence is an argument of a kernel, not a constant, so that buckets share kernels: one text
// serves all lengths below the lanes of a vector, another all that have whole vectors and a tail.
BOOST_AUTO_TEST_CASE(sequences_of_all_lengths_share_kernels) {
  const auto text = [](int64_t length) {
    Graph graph;
    Tensor x = input_of(graph, {8, length, 64}), weight = input_of(graph, {8, length, 1}, DType::f32, "weight"),
           scores = input_of(graph, {8, 2, length, length}, DType::f32, "scores");
    output("scaled", relu(x * weight));
    output("probabilities", softmax(scores));
    output("heads", transpose(reshape(x, {8, length, 2, 32}), {0, 2, 1, 3}));
    output("normalised", softmax(x));
    output("sum", sum(x * weight, {1}));
    output("bias", sum(x, {0, 1}));
    return lowered_text(graph, generic_cpu_target());
  };
  BOOST_TEST(first_difference(text(5), text(7)) == "");
  BOOST_TEST(first_difference(text(21), text(45)) == "");
}

// The place where a slice begins is an argument of a kernel, so that the steps of an unrolled recurrent layer share
// one.
BOOST_AUTO_TEST_CASE(slices_from_all_places_share_kernels) {
  const auto text = [](int64_t begin, const Target& target) {
    Graph graph;
    const Tensor inputs = matmul(input_of(graph, {5000, 8}), input_of(graph, {8, 48}, DType::f32, "weight"));
    output("state", tanh(slice(inputs, 0, begin, begin + 20)));
    return lowered_text(graph, target);
  };
  for (const Target& target : {generic_cpu_target(), gpu_target("sm_90")})
    BOOST_TEST(first_difference(text(2000, target), text(4000, target)) == "");
}

// There is one small example per fusion class: as KernelIR for a CPU, and for a GPU as KernelIR or as CUDA C++, into
// which it is printed statement by statement; tests/simt runs the CUDA C++ of all classes.
BOOST_AUTO_TEST_CASE(golden_texts) {
  Target warp = gpu_target("sm_90");  // whose blocks of one warp combine their sums in fewer steps
  warp.block_threads = 32;
  const auto check_cpu = [](const std::string& name, const Graph& graph) {
    golden_in_order("lower/" + name + "_cpu.txt", lowered_text(graph, generic_cpu_target()));
  };
  const auto check = [&](const std::string& name, const Graph& graph) {
    check_cpu(name, graph);
    golden_in_order("lower/" + name + "_gpu.txt", lowered_text(graph, warp));
  };
  const auto check_cuda = [&](const std::string& name, const Graph& graph) {
    check_cpu(name, graph);
    golden_in_order("cuda/" + name + ".txt", cuda_text(graph, warp));
  };
  {
    Graph graph;
    Tensor x = input_of(graph, {50, 48});
    output("y", relu(x * input_of(graph, {48}, DType::f32, "scale") + 1.0));
    check_cuda("pointwise", graph);
  }
  {
    Graph graph;
    output("y", softmax(input_of(graph, {20, 600})));
    check("row_reduce", graph);
  }
  {
    Graph graph;
    output("y", sum(input_of(graph, {50, 7, 48}), {0, 1}));
    check("column_reduce", graph);
  }
  {
    Graph graph;
    Tensor x = input_of(graph, {70, 48});
    output("norm", sqrt(sum(x * x)));
    check_cuda("full_reduce", graph);
  }
  {
    Graph graph;
    output("y", max_pool_with_index(input_of(graph, {2, 8, 6, 32}), {{2, 2}, {2, 2}, {0, 0}, {1, 1}}, {1, 2}).value);
    check_cuda("window", graph);
  }
  {
    Graph graph;
    output("y", scatter_add(input(graph, "at", DType::i32, {30}, ""), input_of(graph, {30, 32}), 100));
    check_cpu("scatter", graph);
    // A GPU's threads check eight indices at once and have four updates under way, in a text of 750 lines.
    const std::string gpu = lowered_text(graph, gpu_target("sm_90"));
    const size_t second = gpu.find("kernel scatter threads 256");
    BOOST_REQUIRE(gpu.starts_with("kernel order threads 256"));
    BOOST_REQUIRE(second != gpu.npos);
    const auto counts = [](std::string_view text) {
      std::vector<size_t> found;
      for (const char* statement : {"= load ", " store ", "= local_load ", "local_store ", "barrier", "serial ",
                                    "threads ", "contiguous aligned"})
        found.push_back(count_of(text, statement));
      return found;
    };
    BOOST_TEST(counts(gpu.substr(0, second)) == (std::vector<size_t>{20, 3, 17, 17, 3, 10, 5, 0}));
    BOOST_TEST(counts(gpu.substr(second)) == (std::vector<size_t>{40, 13, 6, 7, 0, 5, 5, 35}));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::lower_test
