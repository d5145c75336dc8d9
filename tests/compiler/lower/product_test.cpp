// Tests which convolutions a GPU's launches compute as products of matrices, what joins them, and their steps against
// the interpreter.
#include <fmt/format.h>

#include <boost/test/unit_test.hpp>

#include "tests/compiler/sample_graphs.h"
#include "tests/interpreters/schedule_interpreter.h"
#include "tests/support/compile_check.h"

namespace kb::product_test {
namespace {

using namespace kb::test;

constexpr double kSumTolerance = 2e-5;  // of a sum in f32, relative to the largest one

Target with_products(int64_t processors = 132) {
  Target target = gpu_target("sm_90");
  target.products = Products::all;
  target.processors = processors;
  return target;
}

struct Layer {
  int64_t samples = 3, in = 24, size = 7, out = 40, kernel = 1, stride = 1, groups = 1;
  DType dtype = DType::bf16;
};

Graph convolution_with_moments(const Layer& layer) {
  Graph graph;
  const Tensor y =
      convolution(input_of(graph, {layer.samples, layer.in, layer.size, layer.size}, layer.dtype),
                  input_of(graph, {layer.out, layer.in / layer.groups, layer.kernel, layer.kernel}, layer.dtype, "w"),
                  {{layer.kernel, layer.kernel}, {layer.stride, layer.stride}}, layer.groups);
  const Moments m = moments(cast(y, DType::f32), {0, 2, 3});
  output("y", y);
  output("mean", m.mean);
  output("variance", m.variance);
  return graph;
}

Schedule scheduled(const Graph& graph, const Target& target) {
  CompileOptions options;
  options.target = target;
  return compile(graph, options).program.at(PartRole::final);
}

int64_t count(const Schedule& schedule, FusionClass cls) { return std::ranges::count(schedule.steps, cls, &Step::cls); }

bool is_own(const Layer& layer, const Target& target = with_products()) {
  return count(scheduled(convolution_with_moments(layer), target), FusionClass::library) == 0;
}

Array whole_numbers(const Type& type) {
  Array array{type, std::vector<double>(static_cast<size_t>(type.elements()))};
  for (size_t i = 0; i < array.data.size(); ++i) array.data[i] = static_cast<double>(i * 7 % 13) - 2;
  return array;
}

// Returns a graph in physical layouts of a gradient of filters and of what one launch computes with it.
Graph physical_gradient(DType dtype) {
  Graph graph;
  const Value x = input_of(graph, {3, 7, 9, 24}, DType::bf16).value();
  const Value dy = input_of(graph, {3, 7, 9, 40}, DType::bf16, "dy").value();
  const Attrs attrs{{"stride", Ints{1, 1}},     {"padding", Ints{0, 0}},      {"dilation", Ints{1, 1}},
                    {"groups", int64_t{1}},     {"kernel", Ints{1, 1}},       {"block_in", int64_t{24}},
                    {"block_out", int64_t{40}}, {"weights_last", int64_t{1}}, {"dtype", dtype}};
  const Tensor dw(graph, graph.add(Op::conv2d_weight_grad, {x, dy}, attrs));
  output("dw", dw);
  output("twice", cast(dw, DType::f32) * 2.0);
  return graph;
}

CheckOptions check_with(const Target& target) {
  CheckOptions check;
  check.target = target;
  check.tolerance = tolerance_of(DType::bf16);
  return check;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(products)

BOOST_AUTO_TEST_CASE(one_launch_multiplies_and_adds_up) {
  const Schedule schedule = scheduled(convolution_with_moments({}), with_products());
  BOOST_TEST(count(schedule, FusionClass::column_reduce) == 1);
  BOOST_TEST(count(schedule, FusionClass::library) == 0);
  const Layer layer;
  for (const Step& step : schedule.steps)
    if (step.cls == FusionClass::column_reduce)
      BOOST_TEST(step.flops >= 2 * layer.samples * layer.size * layer.size * layer.in * layer.out);
}

BOOST_AUTO_TEST_CASE(steps_are_those_of_the_interpreter) {
  check_compiled(convolution_with_moments({}), check_with(with_products()));
  check_compiled(convolution_with_moments({.in = 40, .size = 9, .out = 136}), check_with(with_products(2)));
}

BOOST_AUTO_TEST_CASE(a_single_pixel_is_a_product_too) {
  const Layer pixel{.samples = 1, .size = 1};
  BOOST_TEST(is_own(pixel));
  check_compiled(convolution_with_moments(pixel), check_with(with_products()));
}

// Block storage has room for a few sums beside the matrices. Others read the product from memory.
BOOST_AUTO_TEST_CASE(many_sums_take_two_launches) {
  Graph graph;
  const Tensor y = convolution(input_of(graph, {3, 24, 7, 7}, DType::bf16),
                               input_of(graph, {40, 24, 1, 1}, DType::bf16, "w"), {{1, 1}});
  for (int i = 0; i < 12; ++i) output(fmt::format("sum {}", i), sum(relu(cast(y, DType::f32) - 0.5 * i), {0, 2, 3}));
  check_compiled(graph, check_with(with_products()));
  const Schedule schedule = scheduled(graph, with_products());
  BOOST_TEST(count(schedule, FusionClass::library) == 0);
  BOOST_TEST(count(schedule, FusionClass::column_reduce) == 2);
}

// No part has half as many elements as the whole, which a launch of point-wise ops would compute again from all parts.
BOOST_AUTO_TEST_CASE(joined_images_are_written_before_they_are_multiplied) {
  Graph graph;
  std::vector<Tensor> parts;
  for (const char* name : {"a", "b", "c"}) parts.push_back(input_of(graph, {3, 8, 7, 7}, DType::bf16, name));
  const Tensor filters = input_of(graph, {40, 24, 1, 1}, DType::bf16, "w");
  output("y", convolution(relu(concat(parts, 1)), filters, {{1, 1}}));
  check_compiled(graph, check_with(with_products()));
}

// A multiprocessor of sm_80 has 164 KB of block storage, one of sm_90 228 KB; each block takes up to 2 KB beside its
// own.
BOOST_AUTO_TEST_CASE(blocks_that_are_to_be_resident_have_room) {
  for (const auto& [arch, kilobytes] : {std::pair<const char*, int64_t>("sm_80", 164), {"sm_90", 228}}) {
    Target target = gpu_target(arch);
    target.products = Products::all;
    for (const auto& [in, out] : {std::pair<int64_t, int64_t>(64, 64), {64, 256}, {256, 64}, {512, 512}}) {
      Graph graph = convolution_with_moments({.samples = 64, .in = in, .size = 14, .out = out});
      const Tensor x = input_of(graph, {64, in, 14, 14}, DType::bf16, "x2");
      const Tensor dy = input_of(graph, {64, out, 14, 14}, DType::bf16, "dy");
      output("dw", convolution_weight_grad(x, dy, {{1, 1}}, 1));
      output("dx",
             convolution_input_grad(dy, input_of(graph, {out, in, 1, 1}, DType::bf16, "v"), {{1, 1}}, 1, {14, 14}, in));
      const Schedule schedule = scheduled(graph, target);
      BOOST_TEST(count(schedule, FusionClass::library) == 0);
      for (const ir::Kernel& kernel : schedule.kernels)
        BOOST_TEST(kernel.resident * (block_storage_bytes(kernel) + 2048) <= kilobytes * 1024);
    }
  }
}

BOOST_AUTO_TEST_CASE(blocks_with_many_sums_have_room_on_sm_90) {
  for (const int64_t columns : {40, 136}) {
    Graph graph;
    const Tensor dx =
        convolution_input_grad(input_of(graph, {3, 64, 7, 7}, DType::bf16),
                               input_of(graph, {64, columns, 1, 1}, DType::bf16, "w"), {{1, 1}}, 1, {7, 7}, columns);
    for (int i = 0; i < 8; ++i) output(fmt::format("sum {}", i), sum(relu(cast(dx, DType::f32) - 0.5 * i), {0, 2, 3}));
    Target target = gpu_target("sm_90");
    target.products = Products::all;
    for (const ir::Kernel& kernel : scheduled(graph, target).kernels)
      BOOST_TEST(kernel.resident * (block_storage_bytes(kernel) + 2048) <= 228 * 1024);
  }
}

BOOST_AUTO_TEST_CASE(the_library_computes_what_is_no_product) {
  BOOST_TEST(is_own({}));
  BOOST_TEST(!is_own({.kernel = 3}));
  BOOST_TEST(!is_own({.stride = 2}));
  BOOST_TEST(!is_own({.groups = 2}));
  BOOST_TEST(!is_own({.dtype = DType::f32}));
  BOOST_TEST(!is_own({.in = 12}));
  BOOST_TEST(!is_own({.out = 8}));
  Target none = with_products();
  none.products = Products::none;
  BOOST_TEST(!is_own({}, none));
  none = generic_cpu_target();
  none.products = Products::all;
  BOOST_TEST(!is_own({.dtype = DType::f32}, none));
}

// Without a device a model picks those that memory bounds and that fill the processors.
BOOST_AUTO_TEST_CASE(a_model_picks_without_a_measurement) {
  const Target target = gpu_target("sm_90");
  BOOST_TEST(is_own({.samples = 32, .in = 64, .size = 56, .out = 256}, target));
  BOOST_TEST(is_own({.samples = 64, .in = 512, .size = 28, .out = 128}, target));
  BOOST_TEST(is_own({.samples = 256, .in = 256, .size = 14, .out = 1024}, target));
  const Layer deep{.samples = 256, .in = 1024, .size = 14, .out = 256};
  BOOST_TEST(is_own(deep, target));
  BOOST_TEST(!is_own(deep, gpu_target("sm_80")));
  BOOST_TEST(!is_own({.samples = 256, .in = 2048, .size = 7, .out = 512}, target));
  BOOST_TEST(!is_own({.samples = 1, .in = 64, .size = 56, .out = 256}, target));
}

// A measurement takes precedence over the model.
BOOST_AUTO_TEST_CASE(what_was_measured_is_picked) {
  struct Measured : LibraryQuery {
    explicit Measured(Multiplier by) : by(by) {}
    int64_t scratch_bytes(const Graph&, const Node&, const Epilogue&) const override { return 0; }
    int64_t packed_bytes(const Graph&, const Node&) const override { return 0; }
    std::optional<Multiplier> multiplier(const Graph&, const Node&) const override { return by; }
    const Multiplier by;
  };
  for (const Multiplier by : {Multiplier::library, Multiplier::warps, Multiplier::warpgroups})
    for (const Layer& layer : {Layer{}, Layer{.samples = 32, .in = 64, .size = 56, .out = 256}}) {
      Target target = gpu_target("sm_90");
      target.library = std::make_shared<Measured>(by);
      const Schedule schedule = scheduled(convolution_with_moments(layer), target);
      BOOST_TEST((count(schedule, FusionClass::library) > 0) == (by == Multiplier::library));
      const auto warpgroups = std::ranges::count(schedule.kernels, true, &ir::Kernel::warpgroups);
      BOOST_TEST(warpgroups == (by == Multiplier::warpgroups ? 1 : 0));
    }
}

// Blocks of a tile share the pixels, and the last one adds up what they have left.
BOOST_AUTO_TEST_CASE(gradients_of_filters_are_those_of_the_interpreter) {
  for (const auto& [in, out] : {std::pair<int64_t, int64_t>(24, 40), {136, 16}}) {
    for (const bool rounded : {false, true}) {
      Graph graph;
      const Tensor x = input_of(graph, {3, in, 7, 9}, DType::bf16);
      const Tensor dy = input_of(graph, {3, out, 7, 9}, DType::bf16, "dy");
      const Tensor dw = rounded ? rounded_gradient(x, dy) : convolution_weight_grad(x, dy, {{1, 1}}, 1);
      output("dw", dw);
      output("twice", cast(dw, DType::f32) * 2.0);
      output("norm", sum(cast(dw * dw, DType::f32)));
      CheckOptions check = check_with(with_products(3));
      if (!rounded) check.tolerance = kSumTolerance;
      check_compiled(graph, check);
      BOOST_TEST(count(scheduled(graph, with_products()), FusionClass::library) == 0);
    }
  }
}

// Sums of whole numbers are exact in f32, and few of them are numbers of bf16: rounding where the graph has none is
// found, and so is a reader in the launch that takes a sum before it is rounded.
BOOST_AUTO_TEST_CASE(gradients_of_whole_numbers_are_exact) {
  std::vector<double> sums[2];
  for (const bool rounded : {false, true}) {
    const Graph graph = physical_gradient(rounded ? DType::bf16 : DType::f32);
    CompileOptions options;
    options.target = with_products(3);
    const Schedule schedule = compile_program(graph, options);
    BOOST_TEST(schedule.steps.size() == 1u);
    Bindings bindings;
    for (const Node& node : graph.nodes)
      if (node.op == Op::input) bindings[node.attrs.text("name")] = whole_numbers(node.type());
    StoreBytes store;
    const std::map<std::string, Array> got = run_schedule(schedule, bindings, store);
    for (const auto& [name, expected] : interpret(graph, bindings).outputs)
      BOOST_TEST(got.at(name).data == expected.data, name);
    sums[rounded] = got.at("dw").data;
  }
  BOOST_TEST(sums[0] != sums[1]);
}

// Sums over each image are no sums of whole columns.
BOOST_AUTO_TEST_CASE(only_sums_of_columns_join) {
  Graph graph;
  const Tensor y = convolution(input_of(graph, {3, 24, 7, 7}, DType::bf16),
                               input_of(graph, {40, 24, 1, 1}, DType::bf16, "w"), {{1, 1}});
  output("y", y);
  output("pooled", mean(cast(y, DType::f32), {2, 3}));
  output("sum", sum(cast(y, DType::f32), {0, 2, 3}));
  check_compiled(graph, check_with(with_products()));
  BOOST_TEST(count(scheduled(graph, with_products()), FusionClass::library) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::product_test
