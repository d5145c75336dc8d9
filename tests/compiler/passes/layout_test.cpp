// Tests which layout a convolution asks for, and that what stands between two convolutions leaves images where they
// lie.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <functional>

#include "compiler/passes/layout_table.h"
#include "compiler/passes/passes.h"
#include "graph/layers.h"
#include "tests/compiler/passes/checked_pass.h"

namespace kb::layout_test {

namespace {

Target cpu(const std::string& library_isa) {
  Target target = generic_cpu_target();
  target.library_isa = library_isa;
  return target;
}

int64_t transposes(Graph graph, const Target& target) {
  counts_to_extents(graph);
  const Graph after = test::checked_pass("layout", apply_layout, graph, target);
  return std::ranges::count(after.nodes, Op::transpose, &Node::op);
}

// Returns the transpositions between two convolutions of so many channels, beside those that a relu between them needs.
// On a CPU that is none: images of 3 channels stay in logical order, and a mean over an image has none.
int64_t transposes_of(const Target& target, const std::function<Tensor(Tensor)>& between, int64_t channels = 32) {
  const auto all = [&](const std::function<Tensor(Tensor)>& f) {
    Graph g("between");
    const Tensor x = input(g, "x", DType::f32, {2, 3, 6, 6}, "NCHW");
    const Tensor y = f(convolution(x, input(g, "w", DType::f32, {channels, 3, 3, 3}), {{3, 3}, {1, 1}, {1, 1}}));
    const Tensor z = convolution(y, input(g, "v", DType::f32, {32, y.size(1), 1, 1}), {{1, 1}});
    g.outputs.push_back({"y", mean(z, {2, 3}).value(), Merge::sum});
    return transposes(g, target);
  };
  const int64_t base = all([](Tensor y) { return relu(y); });
  if (target.processor == Processor::cpu) BOOST_TEST(base == 0);
  return all(between) - base;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(layout_pass)

// The table's block where it divides the channels, else the channels whole; few channels, as images have, stay in
// logical order on a CPU.
BOOST_AUTO_TEST_CASE(channels_that_lie_together) {
  constexpr Processor kCpu = Processor::cpu, kGpu = Processor::gpu;
  BOOST_TEST(channels_together(kCpu, 16, 64) == 16);
  BOOST_TEST(channels_together(kCpu, 16, 16) == 16);
  BOOST_TEST(channels_together(kCpu, 16, 24) == 24);
  BOOST_TEST(channels_together(kCpu, 16, 15) == 0);
  BOOST_TEST(channels_together(kCpu, 16, 8) == 0);
  BOOST_TEST(channels_together(kCpu, 8, 8) == 8);
  BOOST_TEST(channels_together(kCpu, 0, 15) == 0);
  BOOST_TEST(channels_together(kCpu, 0, 16) == 16);
  BOOST_TEST(channels_together(kGpu, 0, 3) == 3);
  BOOST_TEST(channel_block(cpu("avx512"), DType::f32, 32) == 16);
  BOOST_TEST(channel_block(cpu("avx2"), DType::f32, 32) == 8);
  BOOST_TEST(channel_block(cpu("portable"), DType::f32, 32) == 32);
  BOOST_TEST(channel_block(cpu("avx512"), DType::f64, 32) == 0);
  BOOST_TEST(channel_block(gpu_target("sm_90"), DType::f64, 32) == 32);
}

// The images of a convolution and of its gradients lie in blocks on both sides or channels last on both, unless one has
// the channels of a photograph.
BOOST_AUTO_TEST_CASE(both_images_of_a_convolution_lie_alike) {
  struct Row {
    int64_t in, out, block_in, block_out;
  };
  const auto blocks = [](const Row& row) {
    Graph g("sides");
    const Tensor x = input(g, "x", DType::f32, {2, row.in, 6, 6}, "NCHW"),
                 w = input(g, "w", DType::f32, {row.out, row.in, 1, 1});
    Tensor y = convolution(x, w, {{1, 1}});
    y = mean(y * y, {0, 1, 2, 3});
    const std::vector<Tensor> gradient = gradients(y, {x, w});
    g.outputs.push_back({"x", gradient[0].value(), Merge::per_sample});
    g.outputs.push_back({"w", gradient[1].value(), Merge::sum});
    counts_to_extents(g);
    std::vector<std::pair<int64_t, int64_t>> found;
    for (const Node& node : test::checked_pass("layout", apply_layout, g, cpu("avx512")).nodes)
      if (node.op == Op::conv2d || node.op == Op::conv2d_input_grad || node.op == Op::conv2d_weight_grad)
        found.emplace_back(node.attrs.has("block_in") ? node.attrs.integer("block_in") : 0,
                           node.attrs.has("block_out") ? node.attrs.integer("block_out") : 0);
    return found;
  };
  for (const Row& row : {Row{32, 64, 16, 16}, Row{16, 32, 16, 16}, Row{16, 24, 16, 24}, Row{24, 64, 24, 64},
                         Row{64, 24, 64, 24}, Row{64, 10, 64, 10}, Row{8, 32, 8, 32}, Row{24, 40, 24, 40},
                         Row{8, 10, 0, 0}, Row{3, 32, 0, 16}, Row{3, 24, 0, 24}})
    BOOST_TEST((blocks(row) == std::vector<std::pair<int64_t, int64_t>>(3, {row.block_in, row.block_out})),
               row.in << " to " << row.out << " channels");
}

BOOST_AUTO_TEST_CASE(images_stay_where_they_lie) {
  const std::function<Tensor(Tensor)> rows[] = {
      [](Tensor y) { return y * 2.0 + 1.0; },
      [](Tensor y) {
        return y + input(y.graph(), "b", DType::f32, {1, 32, 1, 1});
      },
      [](Tensor y) {
        return y * input(y.graph(), "b", DType::f32, {2, 1, 6, 6});
      },
      [](Tensor y) { return stop_gradient(y); },
      [](Tensor y) { return dropout("drop", y, 0.5); },
      [](Tensor y) {
        return y - mean(y, {0, 2, 3}, true);
      },
      [](Tensor y) { return y - max(y, {1}, true); },
      [](Tensor y) {
        return y - mean(y, {1, 2}, true);
      },
      [](Tensor y) { return max_pool2d(y, {.kernel = 2}); },
      [](Tensor y) { return slice(y, 2, 1, 5, 2); },
      [](Tensor y) { return cast(slice(cast(y, DType::f64), 3, 0, 4), DType::f32); },
      [](Tensor y) { return slice(y, 1, 16, 32); },
      [](Tensor y) {
        return pad(y, {0, 16, 1, 0}, {0, 0, 0, 2});
      },
      [](Tensor y) {
        return concat({y, relu(y)}, 3);
      },
  };
  for (const Target& target : {cpu("avx512"), cpu("avx2"), cpu("portable"), gpu_target("sm_90")})
    for (size_t row = 0; row < std::size(rows); ++row)
      BOOST_TEST(transposes_of(target, rows[row]) == 0, "row " << row << " for " << target.library_isa);
}

// A change of the number of channels that cuts a block is made in logical order.
BOOST_AUTO_TEST_CASE(parts_of_blocks_are_brought_to_logical_order) {
  const std::function<Tensor(Tensor)> rows[] = {
      [](Tensor y) { return slice(y, 1, 4, 20); },
      [](Tensor y) { return slice(y, 1, 0, 32, 2); },
      [](Tensor y) {
        return pad(y, {0, 4, 0, 0}, {0, 12, 0, 0});
      },
      [](Tensor y) {
        return pad(y, {0, 0, 0, 0}, {0, 1, 0, 0}, 0, {0, 1, 0, 0});
      },
      [](Tensor y) { return y - max(y, {2}, true); },
      [](Tensor y) {
        return y * cast(reshape(argmax(y, 1), {2, 1, 6, 6}), DType::f32);
      },
  };
  for (const Target& target : {cpu("avx512"), cpu("avx2")})
    for (size_t row = 0; row < std::size(rows); ++row)
      BOOST_TEST(transposes_of(target, rows[row]) > 0, "row " << row << " for " << target.library_isa);
  // Channels that lie last are cut where they lie, unless so few are left that they are stored in logical order.
  const auto first = [](int64_t channels) { return [=](Tensor y) { return slice(y, 1, 0, channels); }; };
  BOOST_TEST(transposes_of(cpu("portable"), first(20)) == 0);
  BOOST_TEST(transposes_of(cpu("portable"), first(8)) > 0);
  BOOST_TEST(transposes_of(cpu("avx512"), first(20), 24) == 0);
  BOOST_TEST(transposes_of(cpu("avx512"), first(32), 40) > 0);
}

BOOST_AUTO_TEST_CASE(signals_stay_where_they_lie) {
  Graph g("signals");
  Tensor x = conv1d("a", input(g, "x", DType::f32, {2, 3, 24}, "NCL"), 32, {.kernel = 3});
  x = conv1d("b", max_pool1d(relu(x), {.kernel = 2}), 32, {.kernel = 3});
  g.outputs.push_back({"y", global_avg_pool(x).value(), Merge::sum});
  BOOST_TEST(transposes(g, cpu("avx512")) == 0);
}

// A value is brought to another order once, whoever asks for it, and not at all if only axes of extent 1 move.
BOOST_AUTO_TEST_CASE(a_value_is_transposed_once) {
  const auto read_in_logical_order = [](int64_t size) {
    Graph g("once");
    const Tensor x = input(g, "x", DType::f32, {2, 3, size, size}, "NCHW"),
                 w = input(g, "w", DType::f32, {32, 3, 3, 3});
    const Tensor y = convolution(x, w, {{3, 3}});
    g.outputs.push_back({"flat", flatten(y).value(), Merge::per_sample});
    g.outputs.push_back({"most", argmax(y, 1).value(), Merge::per_sample});
    g.outputs.push_back({"rows", sum(y, {2}).value(), Merge::per_sample});
    return transposes(g, cpu("avx512"));
  };
  BOOST_TEST(read_in_logical_order(6) == 1);
  BOOST_TEST(read_in_logical_order(3) == 0);
}

// Images that a program gets and gives channels last are read and written as they lie.
BOOST_AUTO_TEST_CASE(a_transposition_by_hand_is_a_view) {
  const auto count = [](bool by_hand) {
    Graph g("hand");
    Tensor x = input(g, "x", DType::f32, by_hand ? Dims{2, 6, 6, 3} : Dims{2, 3, 6, 6});
    if (by_hand) x = transpose(x, {0, 3, 1, 2});
    Tensor y = convolution(x, input(g, "w", DType::f32, {24, 3, 3, 3}), {{3, 3}});
    if (by_hand) y = transpose(y, {0, 2, 3, 1});
    g.outputs.push_back({"y", y.value(), Merge::per_sample});
    return transposes(g, gpu_target("sm_90"));
  };
  BOOST_TEST(count(false) == 3);  // images, filters and the result
  BOOST_TEST(count(true) == 1);   // filters
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::layout_test
