// Tests what a rule sees of its matrices, and in which dtype the products of an update are computed.
#include "compiler/passes/matrices.h"

#include <boost/test/unit_test.hpp>

#include "compiler/pipeline/pipeline.h"
#include "graph/functions.h"
#include "graph/interpreter.h"
#include "tests/support/compile_check.h"

namespace kb::matrices_test {
namespace {

constexpr int64_t kFilters = 2, kChannels = 8, kTaps = 6;

// Returns the loss sum(w g), whose gradient in the filters w is g.
Graph filters() {
  Graph graph("filters");
  const Dims shape{kFilters, kChannels, 2, 3};
  const Tensor w = parameter(graph, "w", Role::weight, {DType::f32, shape, "OIHW"}, {});
  graph.outputs.push_back({"loss", sum(w * input(graph, "g", DType::f32, shape)).value(), Merge::sum});
  return graph;
}

Graph after_passes(const Target& target, Precision precision, const UpdateRule& rule) {
  CompileOptions options;
  options.target = target;
  options.precision = precision;
  options.groups = {{.rule = rule}};
  options.check_passes = true;
  CompileState state{options, {}, {}};
  std::vector<PassReport> reports;
  return run_graph_passes(filters(), state, reports);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(matrices)

// On a GPU filters lie with their channels last, and a checkpoint of it goes on elsewhere.
BOOST_AUTO_TEST_CASE(slots_of_matrices_have_the_order_of_the_shape_on_every_device) {
  const auto rule = [](UpdateContext& c) {
    return c.parameter - c.matrices_with_slots(c.gradient, [](MatrixBatch& batch) {
      const Tensor kept = batch.slot("kept", {kFilters, kChannels * kTaps});
      batch.set_slot("kept", batch.values + 0.0 * kept);
      return batch.values;
    });
  };
  for (const Target& target : {generic_cpu_target(), gpu_target("sm_90")}) {
    const Graph graph = after_passes(target, Precision::f32, rule);
    const Bindings bindings = random_bindings(graph, 5);
    const Interpretation result = interpret(graph, bindings);
    BOOST_TEST(result.writes.at("kept.w").data == bindings.at("g").data);
  }
}

// The matrices of a second group lie behind those of the first.
BOOST_AUTO_TEST_CASE(a_later_group_has_its_own_matrices) {
  const auto updated = [](const UpdateRule& rule) {
    Graph graph("two groups");
    Tensor loss;
    for (const char* name : {"first", "second", "third"}) {
      const Tensor w = parameter(graph, name, Role::weight, {DType::f32, {3, 5}, ""}, {});
      const Tensor own = sum(w * input(graph, std::string("g.") + name, DType::f32, {3, 5}));
      loss = loss.valid() ? loss + own : own;
    }
    graph.outputs.push_back({"loss", loss.value(), Merge::sum});
    CompileOptions options;
    options.target = generic_cpu_target();
    options.groups = {
        {.name = "a", .rule = test::plain_sgd(), .owns = [](const Variable& v) { return v.name == "first"; }},
        {.name = "b", .rule = rule, .owns = [](const Variable& v) { return v.name != "first"; }}};
    options.check_passes = true;
    CompileState state{options, {}, {}};
    std::vector<PassReport> reports;
    const Graph after = run_graph_passes(graph, state, reports);
    std::vector<double> all;
    for (const auto& [name, array] : interpret(after, random_bindings(after, 5)).writes)
      all.insert(all.end(), array.data.begin(), array.data.end());
    return all;
  };
  const auto plain = updated([](UpdateContext& c) { return c.parameter - 2.0 * c.gradient; });
  const auto by_matrices =
      updated([](UpdateContext& c) { return c.parameter - c.matrices(c.gradient, [](Tensor x) { return 2.0 * x; }); });
  BOOST_TEST(plain.size() >= 45u);
  BOOST_TEST(by_matrices == plain);
}

BOOST_AUTO_TEST_CASE(exact_products_are_of_f32_numbers_in_every_precision) {
  const auto rule = [](UpdateContext& c) {
    const auto products = [](Tensor x) {
      return exact_matmul(exact_matmul(x, x, false, true), matmul(matmul(x, x, false, true), x));
    };
    return c.parameter - c.matrices(c.gradient, products);
  };
  for (const Precision precision : {Precision::f32, Precision::tf32, Precision::bf16, Precision::f16}) {
    int exact = 0, others = 0;
    const Graph graph = after_passes(gpu_target("sm_90"), precision, rule);
    for (const Node& node : graph.nodes) {
      if (node.op != Op::matmul) continue;
      const bool is_exact = node.attrs.integer(kExactProduct, 0) != 0;
      ++(is_exact ? exact : others);
      BOOST_TEST((node.type().dtype == DType::f32));
      BOOST_TEST(node.attrs.integer("tf32", 0) == (precision == Precision::tf32 && !is_exact));
      for (const Value input : node.inputs)
        BOOST_TEST((graph.type(input).dtype == (precision == Precision::bf16 && !is_exact ? DType::bf16 : DType::f32)));
    }
    BOOST_TEST(exact == 2);
    BOOST_TEST(others == 2);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::matrices_test
