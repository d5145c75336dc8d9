// Evaluates graphs outside of a training: results are compared with plain loops and the interpreter, and values that do
// not fit are refused with a message.
#include "runtime/evaluate.h"

#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <span>

#include "graph/interpreter.h"
#include "graph/layers.h"
#include "tests/support/says.h"

namespace kb::evaluate_test {

using kb::test::says;

namespace {

void name_output(const std::string& name, Tensor value) { value.graph().outputs.push_back({name, value.value()}); }

// y = table[rows] * rate.
Graph row_graph() {
  Graph graph("rows", Mode::inference);
  const Tensor table = input(graph, "table", DType::f32, {4, 2}), rows = index_input(graph, "rows", {3}, 4);
  name_output("y", gather(table, rows) * scalar_input(graph, "rate"));
  return graph;
}

const std::vector<float> kTable = {1, 2, 3, 4, 5, 6, 7, 8};
const std::vector<int32_t> kRows = {3, 0, 3};

Graph small_net(Mode mode) {
  Graph graph("net", mode);
  Tensor x = input(graph, "images", DType::f32, {2, 3, 6, 6}, "NCHW");
  x = max_pool2d(relu(batch_norm("bn", conv2d("conv", x, 4, {.kernel = 3, .padding = 1}))), {.kernel = 2});
  name_output("logits", linear("fc", flatten(x), 5));
  return graph;
}

std::vector<float> wave(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(std::sin(0.7 * static_cast<double>(i)));
  return values;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(evaluate_graph)

BOOST_AUTO_TEST_CASE(a_gather_is_that_of_a_loop) {
  const GraphResults results = evaluate(row_graph(), {{"table", kTable}, {"rows", kRows}, {"rate", 0.5}});
  BOOST_TEST((results.type("y") == Type{DType::f32, {3, 2}, ""}));
  const std::vector<float> y = results.values<float>("y");
  BOOST_REQUIRE(y.size() == 6u);
  for (size_t i = 0; i < 3; ++i)
    for (size_t j = 0; j < 2; ++j) BOOST_TEST(y[2 * i + j] == 0.5f * kTable[2 * static_cast<size_t>(kRows[i]) + j]);
  BOOST_TEST(results.number("y") == 3.5);
}

BOOST_AUTO_TEST_CASE(every_dtype_goes_in_and_comes_out) {
  Graph graph("dtypes", Mode::inference);
  const auto in = [&](const char* name, DType dtype) { return input(graph, name, dtype, {3}); };
  const Tensor f64 = in("f64", DType::f64), f32 = in("f32", DType::f32), f16 = in("f16", DType::f16),
               bf16 = in("bf16", DType::bf16), i32 = in("i32", DType::i32), u32 = in("u32", DType::u32),
               u8 = in("u8", DType::u8), flags = in("flags", DType::boolean);
  name_output("f64", f64 / 3.0);
  name_output("f32", f32 + 1.0);
  name_output("f16", f16 + 0.0);
  name_output("bf16", bf16 + 0.0);
  name_output("i32", i32 * 2.0);
  name_output("u32", bit_xor(u32, u32) + u32);
  name_output("u8", cast(u8, DType::u8));
  name_output("flags", logical_not(flags));
  const std::vector<double> doubles = {1, -2, 1e300};
  const std::array<float, 3> floats = {0.1f, -2, 3};
  const std::vector<int32_t> whole = {-5, 7, 1 << 29};
  const std::vector<uint32_t> bits = {0, 5, 0xffffffff};
  const std::vector<uint8_t> bytes = {0, 1, 255}, booleans = {0, 1, 0};
  const GraphResults results = evaluate(graph, {{"f64", doubles},
                                                {"f32", floats},
                                                {"f16", floats},
                                                {"bf16", std::span<const float>(floats)},
                                                {"i32", whole},
                                                {"u32", bits},
                                                {"u8", bytes},
                                                {"flags", booleans}});
  for (size_t i = 0; i < 3; ++i) {
    BOOST_TEST(results.values<double>("f64")[i] == doubles[i] / 3);
    BOOST_TEST(results.values<float>("f32")[i] == floats[i] + 1);
    BOOST_TEST(results.values<float>("f16")[i] == round_to(DType::f16, floats[i]));
    BOOST_TEST(results.values<float>("bf16")[i] == round_to(DType::bf16, floats[i]));
    BOOST_TEST(results.values<int32_t>("i32")[i] == 2 * whole[i]);
    BOOST_TEST(results.values<uint32_t>("u32")[i] == bits[i]);
    BOOST_TEST(results.values<uint8_t>("u8")[i] == bytes[i]);
    BOOST_TEST(results.values<bool>("flags")[i] == (booleans[i] == 0));
    BOOST_TEST(results.values<uint8_t>("flags")[i] == (booleans[i] == 0));
  }
}

// Parameters start as in a training: by the seed and their names.
BOOST_AUTO_TEST_CASE(a_net_agrees_with_the_interpreter) {
  const Graph graph = small_net(Mode::inference);
  const std::vector<float> images = wave(2 * 3 * 6 * 6);
  Bindings bindings;
  bindings["images"] = {graph.type(graph.find_input("images")), {images.begin(), images.end()}};
  for (const Variable& variable : graph.variables) bindings[variable.name] = initial_value(variable, 9);
  const std::vector<double> expected = interpret(graph, bindings).outputs.at("logits").data;
  const std::vector<float> logits = evaluate(graph, {{"images", images}}, {.seed = 9}).values<float>("logits");
  BOOST_REQUIRE(logits.size() == expected.size());
  for (size_t i = 0; i < logits.size(); ++i) BOOST_TEST(std::abs(logits[i] - expected[i]) < 1e-5);
  const std::vector<float> other = evaluate(graph, {{"images", images}}, {.seed = 10}).values<float>("logits");
  BOOST_TEST(std::abs(other[0] - expected[0]) > 1e-3);
}

BOOST_AUTO_TEST_CASE(parameters_are_given_by_name_and_stay) {
  Graph graph("line", Mode::inference);
  const Tensor x = input(graph, "x", DType::f64, {3});
  const auto number = [&](const char* name) {
    return parameter(graph, name, Role::weight, {DType::f64, {}, ""}, {InitKind::constant, 1, 0});
  };
  const Tensor slope = number("slope"), offset = number("offset");
  name_output("y", x * slope + offset);
  CompiledGraph line(graph);
  const std::vector<double> x3 = {1, 2, 3};
  const auto y = [&](const NamedValues& values) { return line.run(values).values<double>("y"); };
  BOOST_TEST(y({{"x", x3}}) == (std::vector<double>{2, 3, 4}));
  BOOST_TEST(y({{"x", x3}, {"slope", 10}}) == (std::vector<double>{11, 21, 31}));
  BOOST_TEST(y({{"x", x3}, {"offset", 0}}) == (std::vector<double>{10, 20, 30}));
}

BOOST_AUTO_TEST_CASE(tensors_of_a_file_are_values_of_their_shape) {
  Graph graph("fc", Mode::inference);
  name_output("y", linear("fc", input(graph, "x", DType::f32, {1, 2}), 3, {.bias = false}));
  CompiledGraph fc(graph);
  const auto bytes = [](const std::vector<float>& values) {
    const auto all = std::as_bytes(std::span(values));
    return std::vector<std::byte>(all.begin(), all.end());
  };
  const NamedTensor weight{"fc.weight", {DType::f32, {3, 2}, ""}, bytes({1, 2, 3, 4, 5, 6})};
  const NamedTensor turned{"fc.weight", {DType::f32, {2, 3}, ""}, weight.data};
  const std::vector<float> x = {1, 10};
  BOOST_TEST(fc.run({{"x", x}, {weight.name, weight}}).values<float>("y") == (std::vector<float>{21, 43, 65}));
  BOOST_CHECK_EXCEPTION(fc.run({{"x", x}, {turned.name, turned}}), Error,
                        says("\"fc.weight\"", "another shape", "expected: [3, 2]", "got:      [2, 3]"));
}

// A running mean begins at 0. Each run makes it 0.9 times its value plus 0.1 times the mean of the batch.
BOOST_AUTO_TEST_CASE(written_state_goes_on_in_the_next_run) {
  Graph graph("norm", Mode::training);
  name_output("y", batch_norm("bn", input(graph, "x", DType::f32, {2, 1})));
  CompiledGraph norm(graph);
  const std::vector<float> x = {1, 3};
  BOOST_TEST(std::abs(norm.run({{"x", x}}).state<float>("bn.running_mean")[0] - 0.2) < 1e-6);
  const GraphResults second = norm.run({{"x", x}});
  BOOST_TEST(std::abs(second.state<float>("bn.running_mean")[0] - 0.38) < 1e-6);
  BOOST_TEST(std::abs(second.values<float>("y")[1] - 1) < 1e-4);
  const GraphResults set = norm.run({{"x", x}, {"bn.running_mean", std::vector<float>{12}}});
  BOOST_TEST(std::abs(set.state<float>("bn.running_mean")[0] - 11) < 1e-6);
  BOOST_CHECK_EXCEPTION(
      second.state<float>("bn.weight"), Error,
      says("no written state is named so", "\"bn.running_mean\" f32[C=1]", "got:      \"bn.weight\""));
}

// An element is 0 or twice its value; the scalars of the random bits are inputs, and choose other elements.
BOOST_AUTO_TEST_CASE(dropout_takes_the_scalars_of_its_random_bits) {
  Graph graph("drop", Mode::training);
  name_output("y", dropout("drop", input(graph, "x", DType::f32, {1, 64}), 0.5));
  CompiledGraph drop(graph);
  const std::vector<float> ones(64, 1);
  const auto y = [&](double step) {
    return drop.run({{"x", ones}, {"seed", 3}, {"step", step}, {"worker", 0}}).values<float>("y");
  };
  const std::vector<float> first = y(0);
  for (const float value : first) BOOST_TEST((value == 0 || value == 2));
  BOOST_TEST(first == y(0));
  BOOST_TEST((first != y(1)));
  BOOST_CHECK_EXCEPTION(drop.run({{"x", ones}, {"step", 0}, {"worker", 0}}), Error,
                        says("input \"seed\" has no value"));
}

// Inputs, parameters and constants may be outputs. An input that nothing reads still needs a value.
BOOST_AUTO_TEST_CASE(an_output_may_be_anything) {
  Graph graph("leaves", Mode::inference);
  name_output("input", input(graph, "x", DType::i32, {2}));
  name_output("constant", constant(graph, DType::f32, {2}, {5, 6}));
  name_output("parameter", parameter(graph, "w", Role::weight, {DType::f32, {3}, ""}, {InitKind::constant, 7, 0}));
  input(graph, "unread", DType::f32, {2});
  const std::vector<int32_t> x = {-3, 4};
  const GraphResults results = evaluate(graph, {{"x", x}, {"unread", std::vector<float>{1, 2}}});
  BOOST_TEST(results.values<int32_t>("input") == x);
  BOOST_TEST(results.values<float>("constant")[1] == 6);
  BOOST_TEST(results.values<float>("parameter")[2] == 7);
  BOOST_CHECK_EXCEPTION(evaluate(graph, {{"x", x}}), Error, says("input \"unread\" has no value"));
}

BOOST_AUTO_TEST_CASE(a_backend_may_be_given) {
  const std::unique_ptr<Backend> backend = make_cpu_backend({1, 1, ""});
  const EvaluateOptions options{.backend = backend.get()};
  BOOST_TEST(evaluate(row_graph(), {{"table", kTable}, {"rows", kRows}, {"rate", 1}}, options).number("y") == 7);
}

BOOST_AUTO_TEST_CASE(values_that_do_not_fit_are_refused) {
  CompiledGraph rows(row_graph());
  const auto refused = [&](const char* name, const TensorValues& values, const std::string& text) {
    NamedValues given = {{"table", kTable}, {"rows", kRows}, {"rate", 1}};
    given.insert_or_assign(name, values);
    BOOST_CHECK_EXCEPTION(rows.run(given), Error, says(text));
  };
  BOOST_CHECK_EXCEPTION(
      rows.run({{"table", kTable}, {"rate", 1}}), Error,
      says("graph \"rows\": input \"rows\" has no value\n  expected: values of \"rate\" f32[], \"rows\" "
           "i32[3], \"table\" f32[4,2]\n  got:      2 given"));
  refused("row", kRows,
          "graph \"rows\": neither an input nor a variable is named \"row\"\n  inputs:     \"rate\" f32[]");
  refused(
      "table", std::vector<double>(8),
      "value of \"table\", which is f32[4,2]: another dtype\n  expected: elements of type float\n  got:      elements "
      "of type double");
  refused("rows", std::vector<uint32_t>(3), "elements of type int32_t\n  got:      elements of type uint32_t");
  refused("table", std::vector<float>(7), "another number of elements\n  expected: 8\n  got:      7");
  refused("table", std::vector<float>(9), "another number of elements\n  expected: 8\n  got:      9");
  refused("table", 1.5, "one number for a tensor\n  expected: 8 elements\n  got:      1.5");
  for (const int32_t wrong : {-1, 4})
    refused("rows", std::vector<int32_t>{0, 3, wrong},
            "value of \"rows\", which is i32[3]: an index out of range\n  expected: 0 to 3\n  got:      " +
                std::to_string(wrong) + " at element 2");
  // Nothing of what was refused was kept.
  BOOST_TEST(rows.run({{"table", kTable}, {"rows", kRows}, {"rate", 1}}).number("y") == 7);
}

BOOST_AUTO_TEST_CASE(numbers_fit_the_dtype_of_their_scalar) {
  Graph graph("scalars", Mode::inference);
  name_output("sum", scalar_input(graph, "count", DType::i32) + scalar_input(graph, "more", DType::i32));
  name_output("not", logical_not(scalar_input(graph, "flag", DType::boolean)));
  const auto run = [&](double count, double flag) {
    return evaluate(graph, {{"count", count}, {"more", -7}, {"flag", flag}});
  };
  BOOST_TEST(run(9, 0).number("sum") == 2);
  BOOST_TEST(run(9, 0).values<bool>("not")[0] == true);
  BOOST_CHECK_EXCEPTION(run(0.5, 0), Error, says("value of \"count\"", "a number that i32 holds\n  got:      0.5"));
  BOOST_CHECK_EXCEPTION(run(1e10, 0), Error, says("a number that i32 holds"));
  BOOST_CHECK_EXCEPTION(run(1, 2), Error, says("value of \"flag\"", "got:      2"));
  BOOST_CHECK_EXCEPTION(
      evaluate(graph, {{"count", 1}, {"more", 1}, {"flag", std::vector<uint8_t>{3}}}), Error,
      says("value of \"flag\", which is bool[]: no boolean\n  expected: 0 or 1\n  got:      3 at element 0"));
}

BOOST_AUTO_TEST_CASE(results_are_read_in_their_dtype_and_by_their_names) {
  const GraphResults results = evaluate(row_graph(), {{"table", kTable}, {"rows", kRows}, {"rate", 1}});
  BOOST_CHECK_EXCEPTION(
      results.values<double>("y"), Error,
      says("result \"y\", which is f32[3,2]: another dtype\n  expected: elements of type float\n  got:  "
           "    elements of type double"));
  BOOST_CHECK_EXCEPTION(results.values<float>("z"), Error,
                        says("no output is named so\n  expected: \"y\" f32[3,2]\n  got:      \"z\""));
}

BOOST_AUTO_TEST_CASE(a_graph_without_outputs_is_refused) {
  Graph graph("none", Mode::inference);
  input(graph, "x", DType::f32, {2});
  BOOST_CHECK_EXCEPTION(CompiledGraph{graph}, Error, says("graph \"none\": nothing to evaluate", "hint:"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::evaluate_test
