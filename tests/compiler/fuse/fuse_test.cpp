// Tests which ops end up in one launch (batch norm, softmax cross-entropy, one update), and which
// must stay apart.
#include "compiler/fuse/fuse.h"

#include <boost/test/unit_test.hpp>

#include "compiler/schedule/order.h"
#include "compiler/views.h"
#include "graph/layers.h"
#include "graph/transformer.h"
#include "tests/compiler/lowered_group.h"
#include "tests/support/compile_check.h"

namespace kb::fuse_test {

using namespace kb::test;

namespace {

CompileOptions on_cpu() {
  CompileOptions options;
  options.target = generic_cpu_target();
  return options;
}

// The graph that was fused last.
const Graph*& last_fused() {
  static const Graph* graph = nullptr;
  return graph;
}

std::vector<Group> fused(Graph graph, CompileOptions options = on_cpu()) {
  CompileState state{options, {}, {}};
  std::vector<PassReport> reports;
  static std::vector<std::unique_ptr<Graph>> kept;
  kept.push_back(std::make_unique<Graph>(run_graph_passes(std::move(graph), state, reports)));
  last_fused() = kept.back().get();
  return order(*kept.back(), fuse(*kept.back(), options.target)).groups;
}

int count(const std::vector<Group>& groups, FusionClass cls) {
  return static_cast<int>(std::count_if(groups.begin(), groups.end(), [&](const Group& g) { return g.cls == cls; }));
}

// Returns z = relu(batch_norm(x) + r) on rows x channels and, with `backward`, its gradients from dz, the gradient of
// z.
Graph norm_graph(bool backward) {
  Graph g("norm");
  Tensor x = input(g, "x", DType::f32, {96, 32}, "NC"), r = input(g, "r", DType::f32, {96, 32}, "NC");
  Tensor dz = input(g, "dz", DType::f32, {96, 32}, "NC");
  Tensor z = relu(batch_norm("bn", x) + r);
  g.outputs.push_back({"z", z.value(), Merge::per_sample});
  if (!backward) return g;
  std::vector<Tensor> d = gradients(sum(z * dz), {x, r, Tensor(g, g.read("bn.weight")), Tensor(g, g.read("bn.bias"))});
  const char* names[] = {"dx", "dr", "dweight", "dbias"};
  for (size_t i = 0; i < d.size(); ++i)
    g.outputs.push_back({names[i], d[i].value(), i < 2 ? Merge::per_sample : Merge::sum});
  return g;
}

// Counts the tensors that the groups read and write, which is the number of passes over memory.
size_t passes(const std::vector<Group>& groups) {
  size_t total = 0;
  for (const Group& group : groups) total += group.inputs.size() + group.outputs.size();
  return total;
}

// Returns layers, each of which concatenates its result with all before it, with their gradients: as a chain of concats
// of two or, with `flat`, each layer's concat of all results.
Graph dense_graph(int layers, bool flat) {
  Graph g("dense");
  std::vector<Tensor> all{input(g, "x", DType::f32, {2, 8, 3, 3}, "NCHW")};
  Tensor x = all[0];
  for (int i = 0; i < layers; ++i) {
    const std::string name = std::to_string(i);
    all.push_back(conv2d("conv" + name, relu(batch_norm("bn" + name, x)), 4, {.padding = 1}));
    x = flat ? concat(all, 1) : concat({x, all.back()}, 1);
  }
  output("y", x);
  const std::vector<Tensor> d = gradients(sum(x * x), {all[0], Tensor(g, g.read("bn0.weight"))});
  output("dx", d[0]);
  output("dweight", d[1]);
  return g;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(fuse_groups)

BOOST_AUTO_TEST_CASE(batch_norm_forward_is_two_launches) {
  std::vector<Group> groups = fused(norm_graph(false));
  BOOST_TEST(groups.size() == 2u);
  BOOST_TEST(count(groups, FusionClass::column_reduce) == 1);
  BOOST_TEST(count(groups, FusionClass::pointwise) == 1);
}

BOOST_AUTO_TEST_CASE(batch_norm_with_its_gradient_is_four_launches) {
  std::vector<Group> groups = fused(norm_graph(true));
  BOOST_TEST(groups.size() == 4u);
  BOOST_TEST(count(groups, FusionClass::column_reduce) == 2);
}

// It is one launch whether or not the kernel has to check that the labels are among the classes.
BOOST_AUTO_TEST_CASE(softmax_cross_entropy_with_its_gradient_is_one_launch) {
  for (const bool known : {false, true}) {
    Graph g("loss");
    Tensor logits = input(g, "logits", DType::f32, {64, 100}, "NK");
    Tensor labels = known ? index_input(g, "labels", {64}, 100, "N") : input(g, "labels", DType::i32, {64}, "N");
    Tensor weights = input(g, "weights", DType::f32, {64}, "N");
    Tensor loss = cross_entropy(logits, labels, scalar_input(g, "label_smoothing"));
    g.outputs.push_back({"loss", loss.value(), Merge::per_sample});
    g.outputs.push_back({"d", gradients(sum(loss * weights), {logits})[0].value(), Merge::per_sample});
    std::vector<Group> groups = fused(std::move(g));
    BOOST_TEST(groups.size() == 1u);
    BOOST_TEST(count(groups, FusionClass::row_reduce) == 1);
  }
}

// GPT-2's logits, padded to a multiple of 128, and the longest row that counts as one in cache.
BOOST_AUTO_TEST_CASE(rows_of_a_large_vocabulary_are_one_launch) {
  for (const int64_t length : {50304, 65536}) {
    Graph g("vocabulary");
    const Tensor logits = input(g, "logits", DType::f32, {3, length}, "NK");
    const Tensor loss = cross_entropy(logits, index_input(g, "labels", {3}, length, "N"));
    g.outputs.push_back({"d", gradients(sum(loss), {logits})[0].value(), Merge::per_sample});
    BOOST_TEST(fused(std::move(g)).size() == 1u);
    Graph weights("weights");
    const Tensor x = input(weights, "x", DType::f32, {3, length}, "NK");
    weights.outputs.push_back({"y", softmax(x).value(), Merge::per_sample});
    BOOST_TEST(fused(std::move(weights)).size() == 1u);
  }
}

// Each of q, k, v and the joined heads goes through memory once more than for its products: the three leave one launch,
// and their gradients join in one.
BOOST_AUTO_TEST_CASE(heads_are_split_and_joined_in_one_launch_each_way) {
  Graph g("attention");
  const Tensor x = input(g, "x", DType::f32, {4, 32, 64});
  const Tensor y = multi_head_attention("attn", x, x, {.attention = {.heads = 4, .causal = true, .dropout = 0.1}});
  const std::vector<Tensor> d = gradients(sum(y * y), {x, Tensor(g, g.read("attn.in_proj_weight"))});
  g.outputs.push_back({"dx", d[0].value(), Merge::per_sample});
  g.outputs.push_back({"dw", d[1].value()});
  std::map<size_t, int> launches;  // by their number of transpositions
  for (const Group& group : fused(std::move(g))) {
    const auto is_transpose = [](int32_t n) { return last_fused()->nodes[static_cast<size_t>(n)].op == Op::transpose; };
    ++launches[static_cast<size_t>(std::count_if(group.nodes.begin(), group.nodes.end(), is_transpose))];
  }
  launches.erase(0);
  BOOST_TEST((launches == std::map<size_t, int>{{3, 2}, {1, 2}}));
}

// recompute lets backward compute a softmax again that forward's product has read. That is a launch far behind, not a
// second result of the forward's launch, which would be kept until then.
BOOST_AUTO_TEST_CASE(a_softmax_is_not_written_twice_in_forward) {
  Graph g("attention");
  const Tensor first = input(g, "x", DType::f32, {2, 64, 64}, "");
  Tensor x = first;
  for (int layer = 0; layer < 3; ++layer) x = matmul(softmax(matmul(x, x)), tanh(x));
  output("dq", gradients(sum(x * x), {first})[0]);
  int launches = 0;
  for (const Group& group : fused(std::move(g))) {
    if (group.cls != FusionClass::row_reduce) continue;
    ++launches;
    const auto whole =
        std::ranges::count_if(group.outputs, [](Value value) { return last_fused()->type(value).rank() == 3; });
    BOOST_TEST(whole <= 2);  // the exponentials and the softmax
  }
  BOOST_TEST(launches >= 6);
}

// A launch that computes a value also sums up its rows, and so does not read it again. Short rows and very long rows
// are summed by a launch of their own, because in a joint launch most threads of a GPU would be idle.
BOOST_AUTO_TEST_CASE(sums_of_rows_join_the_point_wise_launch_that_computes_them) {
  const auto launches = [](const Dims& shape) {
    Graph g("rows");
    Tensor x = input(g, "x", DType::f32, shape, ""), y = exp(x) * 0.5;
    g.outputs.push_back({"y", y.value(), Merge::per_sample});
    g.outputs.push_back({"squares", sum(y * y, {1}).value(), Merge::per_sample});
    return fused(std::move(g)).size();
  };
  BOOST_TEST(launches({3, 512}) == 1u);
  BOOST_TEST(launches({25000, 1024}) == 1u);
  BOOST_TEST(launches({256, 511}) == 2u);
  BOOST_TEST(launches({256, 2049}) == 2u);
}

// On a GPU a launch that computes a value also sums up its columns: the gradient of a residual block, which the sums of
// the batch norm before read. On a CPU the sums stay apart.
BOOST_AUTO_TEST_CASE(sums_of_columns_join_the_point_wise_launch_that_computes_them) {
  const auto launches = [](const CompileOptions& options, const Ints& axes) {
    Graph g("columns");
    const Dims shape{8, 7, 7, 64};
    Tensor a = input(g, "a", DType::bf16, shape, "NHWC"), b = input(g, "b", DType::bf16, shape, "NHWC");
    Tensor z = input(g, "z", DType::bf16, shape, "NHWC"), x = input(g, "x", DType::bf16, shape, "NHWC");
    Tensor d = select(z > 0.0, a + b, full_like(a, 0)), wide = cast(d, DType::f32);
    g.outputs.push_back({"d", d.value(), Merge::per_sample});
    g.outputs.push_back({"bias", sum(wide, axes).value(), Merge::sum});
    g.outputs.push_back({"weight", sum(wide * cast(x, DType::f32), axes).value(), Merge::sum});
    return fused(std::move(g), options);
  };
  CompileOptions on_gpu;
  on_gpu.target = gpu_target("sm_90");
  const std::vector<Group> together = launches(on_gpu, {0, 1, 2});
  BOOST_REQUIRE(together.size() == 1u);
  BOOST_TEST((together[0].cls == FusionClass::column_reduce));
  BOOST_TEST(together[0].outputs.size() == 3u);
  BOOST_TEST(launches(on_gpu, {0, 1, 2, 3}).size() == 2u);
  BOOST_TEST(launches(on_cpu(), {0, 1, 2}).size() == 2u);
}

// A GPU computes the relu of ResNet's stem inside the windows of its pool, and the gradient of the pool inside the sums
// that read it. Windows that overlap much, and a CPU, read what is written before.
BOOST_AUTO_TEST_CASE(pools_of_a_gpu_join_what_stands_around_them) {
  const auto classes = [](const CompileOptions& options, int64_t stride) {
    Graph g("stem");
    const Dims shape{8, 12, 12, 64};
    Tensor x = input(g, "x", DType::bf16, shape, "NHWC"), r = input(g, "r", DType::bf16, shape, "NHWC");
    Tensor z = relu(x + r), y = max_pool_with_index(z, {{3, 3}, {stride, stride}, {1, 1}}, {1, 2}).value;
    Tensor d = gradients(sum(y), {z})[0];
    g.outputs.push_back({"y", y.value(), Merge::per_sample});
    g.outputs.push_back({"d", d.value(), Merge::per_sample});
    g.outputs.push_back({"sum", sum(cast(d, DType::f32), {0, 1, 2}).value(), Merge::sum});
    std::vector<FusionClass> all;
    for (const Group& group : fused(std::move(g), options)) all.push_back(group.cls);
    return all;
  };
  using enum FusionClass;
  CompileOptions on_gpu;
  on_gpu.target = gpu_target("sm_90");
  BOOST_TEST((classes(on_gpu, 2) == std::vector{window, column_reduce}));
  BOOST_TEST((classes(on_gpu, 1).front() == pointwise));
  BOOST_TEST((classes(on_cpu(), 2).front() == pointwise));
}

BOOST_AUTO_TEST_CASE(all_updates_are_one_launch) {
  CompileOptions options = on_cpu();
  options.groups = {{.rule = momentum_sgd()}};
  Compiled compiled = compile(small_convnet(4), options);
  int updates = 0;
  for (const Step& step : compiled.program.at(PartRole::final).steps)
    for (View view : step.operands)
      if (compiled.program.at(PartRole::final).buffers[static_cast<size_t>(view.buffer)].name == "flat.velocity") {
        ++updates;
        break;
      }
  BOOST_TEST(updates == 1);
}

BOOST_AUTO_TEST_CASE(what_was_rounded_is_written_in_its_16_bits) {
  Graph g("rounded");
  const Type type{DType::f32, {64, 32}, "NC"};
  std::vector<Tensor> x;
  for (const char* name : {"a", "b", "c"}) x.push_back(input(g, name, type.dtype, type.shape, type.names));
  Tensor rounded = cast(cast(x[0] * x[1] + x[2], DType::bf16), DType::f32);
  g.outputs.push_back({"sum", sum(rounded, {0}).value(), Merge::sum});
  g.outputs.push_back({"next", (rounded * x[0]).value(), Merge::per_sample});
  g.outputs.push_back({"after", (rounded * sum(rounded * x[1], {0})).value(), Merge::per_sample});
  int low = 0;
  for (const Group& group : fused(std::move(g)))
    for (const Value v : group.outputs) {
      const auto& outputs = last_fused()->outputs;
      const Type& written = last_fused()->type(v);
      low += written.dtype == DType::bf16;
      BOOST_TEST((written.dtype == DType::bf16 || written.shape != type.shape ||
                  std::any_of(outputs.begin(), outputs.end(), [&](const Output& out) { return out.value == v; })));
    }
  BOOST_TEST(low == 1);
}

// Two blocks of a transformer: the residual and its gradient live between launches, of rank 3; a norm, of which only
// the rounded result is written, stays one launch.
BOOST_AUTO_TEST_CASE(activations_of_any_rank_are_written_in_16_bits) {
  Graph g("blocks");
  const Tensor x = input(g, "x", DType::f32, {4, 32, 64}), w = input(g, "w", DType::f32, {64, 64});
  Tensor y = matmul(x, w);
  for (const char* name : {"0", "1"}) y = encoder_layer(name, y, {.heads = 4, .hidden = 96, .pre_norm = true});
  const Tensor loss = sum(reshape(y, {-1, 64}) * reshape(input(g, "dy", DType::f32, {4, 32, 64}), {-1, 64}));
  g.outputs.push_back({"dw", gradients(loss, {w})[0].value()});
  CompileOptions options = on_cpu();
  options.precision = Precision::bf16;
  int norms = 0;
  for (const Group& group : fused(std::move(g), options)) {
    for (const Value v : group.outputs) {
      const Type& type = last_fused()->type(v);
      if (type.elements() >= 4 * 32 * 64) BOOST_TEST((type.dtype == DType::bf16), to_string(type));
    }
    const bool has_norm = std::any_of(group.nodes.begin(), group.nodes.end(), [&](int32_t n) {
      return last_fused()->nodes[static_cast<size_t>(n)].op == Op::moments;
    });
    norms += has_norm && std::any_of(group.outputs.begin(), group.outputs.end(),
                                     [&](Value v) { return last_fused()->type(v).dtype == DType::bf16; });
  }
  BOOST_TEST(norms == 4);
}

BOOST_AUTO_TEST_CASE(a_launch_never_reads_what_follows_from_its_own_result) {
  // y = x + mean(x) twice over: the second use must wait for the first reduction.
  Graph g("chain");
  Tensor x = input(g, "x", DType::f32, {64, 32}, "NC");
  Tensor y = x + mean(x, {0}, true);
  Tensor z = y * mean(y, {0}, true) + x;
  g.outputs.push_back({"z", z.value(), Merge::per_sample});
  std::vector<Group> groups = fused(g);
  BOOST_TEST(count(groups, FusionClass::column_reduce) == 2);
  BOOST_TEST(passes(groups) > 4u);
  check_compiled(g);
}

// A value that one launch computes again instead of reading is still read by the next launch.
BOOST_AUTO_TEST_CASE(a_part_of_a_concat_that_another_launch_computes_again) {
  Graph g("g");
  Tensor x = input(g, "x", DType::f32, {40}, "N"), size = abs(x);
  g.outputs.push_back({"sum", sum(x, {0}).value(), Merge::sum});
  g.outputs.push_back({"largest", max(size, {0}).value(), Merge::sum});
  g.outputs.push_back({"joined", concat({size, x, size}, 0).value(), Merge::sum});
  g.outputs.push_back({"late", (floor(x) - size).value(), Merge::sum});
  check_compiled(g);
}

// A concat of many parts, or of concats, is written once: kernels of twice as many layers have about twice the text.
BOOST_AUTO_TEST_CASE(dense_layers_make_text_in_proportion_to_their_number) {
  for (const bool flat : {false, true}) {
    check_lowering(dense_graph(5, flat), 1e-4);
    const size_t once = lowered_text(dense_graph(12, flat), generic_cpu_target()).size();
    const size_t twice = lowered_text(dense_graph(24, flat), generic_cpu_target()).size();
    BOOST_TEST(10 * twice <= 24 * once, once << " characters grow to " << twice);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::fuse_test
