// Tests the graph passes one by one: each leaves a graph that computes equal values (check_pass), and does what its
// head comment says.
#include "compiler/passes/passes.h"

#include <boost/test/unit_test.hpp>

#include <functional>
#include <map>

#include "compiler/passes/cut.h"
#include "compiler/pipeline/check_passes.h"
#include "graph/functions.h"
#include "graph/layers.h"
#include "graph/text.h"
#include "tests/support/compile_check.h"

namespace kb::passes_test {

namespace {

CompileOptions options_for(const std::string& library_isa) {
  CompileOptions options;
  options.target = generic_cpu_target();
  options.target.library_isa = library_isa;
  return options;
}

Graph checked(const char* name, Pass pass, const Graph& graph, const CompileOptions& options) {
  CompileState state{options, {}, {}};
  Graph after = pass(graph, state);
  verify(after);
  check_pass(name, graph, after, state);
  return after;
}

int count(const Graph& graph, Op op) {
  return static_cast<int>(
      std::count_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& n) { return n.op == op; }));
}

Graph with_output(const Graph& built, Tensor y) {
  Graph graph = built;
  graph.outputs.push_back({"y", y.value(), Merge::per_sample});
  return graph;
}

Graph two_convolutions(int64_t channels) {
  Graph g("convs");
  Tensor x = input(g, "x", DType::f32, {2, 3, 6, 6}, "NCHW");
  Tensor w1 = input(g, "w1", DType::f32, {channels, 3, 3, 3}, "OIHW"),
         w2 = input(g, "w2", DType::f32, {channels, channels, 3, 3}, "OIHW");
  Tensor b = input(g, "b", DType::f32, {channels}, "C");
  Tensor y = relu(convolution(x, w1, {{3, 3}, {1, 1}, {1, 1}}) + reshape(b, {1, channels, 1, 1}));
  Tensor m = mean(y, {0, 2, 3}, true);
  y = convolution(y - m, w2, {{3, 3}, {1, 1}, {1, 1}});
  y = max_pool2d(y, {.kernel = 2});
  g.outputs.push_back({"y", flatten(y).value(), Merge::per_sample});
  g.outputs.push_back({"m", m.value(), Merge::first});
  counts_to_extents(g);
  return g;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(passes)

BOOST_AUTO_TEST_CASE(layout_leaves_one_transposition_at_each_edge) {
  for (const char* isa : {"amx", "avx512", "avx2", "generic"})
    for (int64_t channels : {16, 32}) {
      Graph after = checked("layout", apply_layout, two_convolutions(channels), options_for(isa));
      BOOST_TEST_CONTEXT(isa << " " << channels << "\n" << to_text(after)) BOOST_TEST(count(after, Op::transpose) <= 2);
    }
}

// Two ways of an image that meet again, as in U-Net (Ronneberger et al. 2015) and Inception.
Graph joined_images(const Ints& channels, int64_t axis) {
  Graph g("joined");
  const Tensor x = input(g, "x", DType::f32, {2, 3, 4, 4}, "NCHW"), weights = input(g, "weights", DType::f32, {2}, "N");
  const Tensor wide = relu(conv2d("a", x, channels[0], {.kernel = 3, .padding = 1}));
  const Tensor low = relu(conv2d("b", max_pool2d(wide, {}), channels[1], {.kernel = 1}));
  const Tensor both = concat({upsample2d(low, 2, Interpolation::bilinear), wide}, axis);
  const Tensor y = global_avg_pool(conv2d("c", both, channels[0], {.kernel = 3, .padding = 1}));
  g.outputs.push_back({"loss", sum(sum(y * y, {1}) * weights).value(), Merge::sum});
  return g;
}

// Channels in whole blocks stay where they are, from the first convolution to the last and back.
BOOST_AUTO_TEST_CASE(layout_reaches_through_concatenations) {
  const auto transposes = [](CompileOptions options, const Ints& channels, int64_t axis) {
    options.groups = {{.rule = test::momentum_sgd()}};
    options.check_passes = true;
    CompileState state{options, {}, {}};
    std::vector<PassReport> reports;
    return count(run_graph_passes(joined_images(channels, axis), state, reports), Op::transpose);
  };
  const int of_images = transposes(options_for("avx512"), {32, 32}, 2);
  BOOST_TEST(of_images <= 2);
  for (const Ints& channels : {Ints{32, 16}, Ints{16, 32}, Ints{48, 16}})
    BOOST_TEST_CONTEXT(channels[0] << " and " << channels[1])
  BOOST_TEST(transposes(options_for("avx512"), channels, 1) == of_images);
  CompileOptions gpu;
  gpu.target = gpu_target("sm_90");
  BOOST_TEST(transposes(gpu, {24, 40}, 1) == transposes(gpu, {24, 24}, 2));
  // Parts of blocks are brought to logical order.
  for (const char* isa : {"avx512", "avx2", "generic"})
    for (const Ints& channels : {Ints{24, 40}, Ints{20, 12}, Ints{4, 32}})
      BOOST_TEST(transposes(options_for(isa), channels, 1) >= of_images);
}

BOOST_AUTO_TEST_CASE(layout_for_a_gpu_is_nhwc) {
  CompileOptions options;
  options.target = gpu_target("sm_90");
  Graph after = checked("layout", apply_layout, two_convolutions(24), options);
  for (const Node& node : after.nodes)
    if (node.op == Op::conv2d) {
      BOOST_TEST(node.attrs.integer("block_out") == 24);
      BOOST_TEST((after.type(node.inputs[1]).shape == Dims{24, 3, 3, node.attrs.integer("block_in")}));
    }
}

// Filters lie in the flat vector as a GPU's library reads them, and gets their gradients in that order.
BOOST_AUTO_TEST_CASE(a_gpu_reads_filters_channels_last) {
  Graph g("filters");
  const Tensor weights = input(g, "weights", DType::f32, {2}, "N");
  Tensor x = conv2d("a", input(g, "x", DType::f32, {2, 8, 6, 6}, "NCHW"), 8, {.kernel = 1});
  x = conv2d("b", relu(x), 16, {.kernel = 3, .padding = 1});
  g.outputs.push_back({"loss", sum(sum(flatten(x * x), {1}) * weights).value(), Merge::sum});
  CompileOptions options;
  options.target = gpu_target("sm_90");
  options.groups = {{.rule = test::momentum_sgd()}};
  options.check_passes = true;
  for (const Precision precision : {Precision::f32, Precision::tf32, Precision::bf16}) {
    options.precision = precision;
    CompileState state{options, {}, {}};
    std::vector<PassReport> reports;
    const Graph after = run_graph_passes(g, state, reports);
    int filters = 0;
    for (const Node& node : after.nodes) {
      const bool conv = node.op == Op::conv2d || node.op == Op::conv2d_input_grad || node.op == Op::conv2d_weight_grad;
      if (!conv) continue;
      BOOST_TEST(node.attrs.integer("weights_last") == 1);
      BOOST_TEST(node.attrs.integer("tf32", 0) == (precision == Precision::tf32));
      BOOST_TEST((node.type().dtype == (precision == Precision::bf16 ? DType::bf16 : DType::f32)));
      filters += node.op != Op::conv2d_weight_grad && after.node(node.inputs[1]).op == Op::transpose;
    }
    BOOST_TEST(filters == 0);
    const Cut parts = cut(after, options.target);
    BOOST_TEST(count(parts.at(PartRole::prepare).graph, Op::transpose) == 0);
    // The images are transposed, and what `flatten` reads and gives back.
    BOOST_TEST(count(parts.at(PartRole::final).graph, Op::transpose) == 3);
  }
}

BOOST_AUTO_TEST_CASE(layout_keeps_odd_channels_working) {
  for (int64_t channels : {1, 5, 6, 17})
    checked("layout", apply_layout, two_convolutions(channels), options_for("avx512"));
}

BOOST_AUTO_TEST_CASE(precision_f64_widens_everything) {
  CompileOptions options = options_for("avx2");
  options.precision = Precision::f64;
  Graph after = checked("precision", apply_precision, two_convolutions(4), options);
  for (const Node& node : after.nodes)
    for (const Type& type : node.outputs) BOOST_TEST((type.dtype != DType::f32));
}

BOOST_AUTO_TEST_CASE(precision_bf16_runs_library_ops_low_and_reductions_in_f32) {
  CompileOptions options = options_for("avx512");
  options.precision = Precision::bf16;
  Graph after = checked("precision", apply_precision, two_convolutions(16), options);
  for (const Node& node : after.nodes) {
    if (node.op == Op::conv2d) BOOST_TEST((node.type().dtype == DType::bf16));
    if (node.op == Op::reduce_sum) BOOST_TEST((node.type().dtype == DType::f32));
  }
}

// Values inside a batch norm are never written to memory, so none of them is rounded; the values that the next
// convolution reads are.
BOOST_AUTO_TEST_CASE(inside_a_norm_nothing_is_rounded_to_bf16) {
  Graph g("norm");
  const Tensor x = input(g, "x", DType::f32, {4, 3, 8, 8}, "NCHW"), weights = input(g, "weights", DType::f32, {4}, "N");
  Tensor y = relu(batch_norm("bn", conv2d("conv1", x, 16, {.kernel = 3, .padding = 1})));
  y = conv2d("conv2", y, 16, {.kernel = 3, .padding = 1});
  g.outputs.push_back({"loss", sum(sum(flatten(y * y), {1}) * weights).value(), Merge::sum});
  CompileOptions options = options_for("avx512");
  options.precision = Precision::bf16;
  options.groups = {{.rule = test::momentum_sgd()}};
  CompileState state{options, {}, {}};
  Graph after = g;
  for (Pass pass : {differentiate, add_optimizer, simplify, apply_precision}) after = pass(std::move(after), state);
  std::map<Op, int> rounded;
  for (const Node& node : after.nodes)
    if (node.op == Op::cast && node.type().dtype == DType::bf16 && node.type().rank() == 4)
      ++rounded[after.node(node.inputs[0]).op];
  BOOST_TEST(rounded.contains(Op::relu));
  BOOST_TEST(!rounded.contains(Op::sub), "x less its mean");
}

// Readers share the rounded copy of a value, and all parameters one rounded copy of the flat vector.
BOOST_AUTO_TEST_CASE(a_value_is_rounded_once) {
  CompileOptions options = options_for("avx512");
  options.precision = Precision::bf16;
  options.groups = {{.rule = test::momentum_sgd()}};
  CompileState state{options, {}, {}};
  Graph after = test::small_convnet(4);
  for (Pass pass : {differentiate, add_optimizer, simplify, apply_precision}) after = pass(std::move(after), state);
  std::map<Value, int> casts;
  for (const Node& node : after.nodes)
    if (node.op == Op::cast && node.type().dtype == DType::bf16) BOOST_TEST(++casts[node.inputs[0]] == 1);
  int parameters = 0;
  for (const auto& [value, times] : casts) parameters += after.node(value).op == Op::variable;
  BOOST_TEST(parameters == 1);
}

// An op that only moves 16-bit values between two library ops, or takes their maxima, moves 16 bits: the casts are
// those of three inputs and of the result.
BOOST_AUTO_TEST_CASE(what_is_rounded_is_moved_in_16_bits) {
  const auto casts = [](const std::function<Tensor(Tensor)>& between) {
    Graph g("moves");
    const Tensor x = input(g, "x", DType::f32, {2, 3, 8, 8}, "NCHW");
    const Tensor y = between(convolution(x, input(g, "w", DType::f32, {4, 3, 1, 1}), {{1, 1}}));
    const Tensor z = convolution(y, input(g, "v", DType::f32, {5, y.size(1), 1, 1}), {{1, 1}});
    CompileOptions options = options_for("avx512");
    options.precision = Precision::bf16;
    return count(checked("precision", apply_precision, with_output(g, z), options), Op::cast);
  };
  BOOST_TEST(casts([](Tensor y) { return y; }) == 4);
  BOOST_TEST(casts([](Tensor y) { return reshape(y, {2, 8, 4, 8}); }) == 4);
  BOOST_TEST(casts([](Tensor y) { return transpose(y, {0, 2, 1, 3}); }) == 4);
  BOOST_TEST(casts([](Tensor y) { return slice(y, 2, 1, 7); }) == 4);
  BOOST_TEST(casts([](Tensor y) { return max_pool2d(y, {.kernel = 2}); }) == 4);
}

// A value that follows from inputs alone stays f32, and so does one that follows from a reduction.
BOOST_AUTO_TEST_CASE(what_follows_from_no_activation_is_exact) {
  const auto casts = [](const std::function<Tensor(Tensor)>& f) {
    Graph g("exact");
    const Tensor y = f(input(g, "x", DType::f32, {4, 3, 8, 8}, "NCHW"));
    CompileOptions options = options_for("avx512");
    options.precision = Precision::bf16;
    counts_to_extents(g);
    return count(checked("precision", apply_precision, with_output(g, y), options), Op::cast);
  };
  const auto columns = [](Tensor v) { return v - sum(v, {0}); };
  BOOST_TEST(casts([](Tensor x) { return max_pool2d(x, {.kernel = 2}); }) == 0);
  BOOST_TEST(casts([&](Tensor x) { return columns(exp(x)); }) == 0);
  BOOST_TEST(casts([&](Tensor x) {
               const Tensor y = convolution(x, input(x.graph(), "w", DType::f32, {4, 3, 1, 1}), {{1, 1}});
               return columns(exp(max(y, {2, 3})));
             }) == 3);  // inputs and result of the convolution
}

// In a bf16 model this holds for every kind of parameter: matrices, an embedding, biases and norms.
BOOST_AUTO_TEST_CASE(gradients_parameters_and_slots_stay_in_f32) {
  Graph g("mixed");
  const Tensor words = input(g, "words", DType::i32, {6, 4}, "NT"), weights = input(g, "weights", DType::f32, {6}, "N");
  Tensor x = reshape(embedding("table", words, 10, 8), {6, 2, 4, 4});
  x = relu(batch_norm("bn", conv2d("conv", x, 16, {.kernel = 3, .padding = 1})));
  x = layer_norm("ln", linear("a", flatten(x), 12));
  x = linear("b", x, 5);
  // A matrix that is read twice, and one that is read under another shape.
  const Tensor twice = parameter(g, "twice", Role::weight, {DType::f32, {5, 5}, ""}, {InitKind::normal, 0, 1});
  const Tensor flat = parameter(g, "flat", Role::weight, {DType::f32, {25}, ""}, {InitKind::normal, 0, 1});
  x = matmul(matmul(matmul(x, twice), twice), reshape(flat, {5, 5}));
  g.outputs.push_back({"loss", sum(sum(x * x, {1}) * weights).value(), Merge::sum});
  CompileOptions options = options_for("avx512");
  options.precision = Precision::bf16;
  options.groups = {{.rule = test::momentum_sgd()}};
  CompileState state{options, {}, {}};
  Graph after = g;
  for (Pass pass : {differentiate, add_optimizer, simplify, apply_precision}) after = pass(std::move(after), state);
  for (const Variable& variable : after.variables) BOOST_TEST((variable.type.dtype == DType::f32));
  // Walks from the sums over workers back to the ops that compute the gradients.
  std::vector<uint8_t> gradient(after.nodes.size(), 0);
  int matmuls = 0, convolutions = 0, scatters = 0, reductions = 0;
  for (size_t n = after.nodes.size(); n-- > 0;) {
    const Node& node = after.nodes[n];
    if (gradient[n]) BOOST_TEST((node.type().dtype == DType::f32), name(node.op));
    matmuls += gradient[n] && node.op == Op::matmul;
    convolutions += gradient[n] && node.op == Op::conv2d_weight_grad;
    scatters += gradient[n] && node.op == Op::scatter_add;
    const OpClass cls = info(node.op).cls;
    reductions += gradient[n] && cls == OpClass::reduction;
    const bool through = gradient[n] && (is_pointwise(node.op) || cls == OpClass::movement);
    if (through || node.op == Op::worker_sum)
      for (Value input : node.inputs) gradient[static_cast<size_t>(input.node)] = 1;
  }
  BOOST_TEST(matmuls == 5);
  BOOST_TEST(convolutions == 1);
  BOOST_TEST(scatters == 1);
  BOOST_TEST(reductions >= 6);  // biases and norms
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::passes_test
