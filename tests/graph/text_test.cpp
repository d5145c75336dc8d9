#include "graph/text.h"

#include <boost/test/unit_test.hpp>
#include <limits>

#include "graph/functions.h"
#include "graph/interpreter.h"
#include "graph/layers.h"
#include "graph/scope.h"
#include "tests/support/graph_parser.h"
#include "tests/support/random_graph.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::text_test {
namespace {

// A model that has one of each thing the text of a graph can hold.
Graph small_model() {
  Graph g("small model");
  const Tensor image = input(g, "image", DType::f32, {4, 3, 6, 6}, "NCHW");
  const Tensor labels = input(g, "labels", DType::i32, {4}, "N");
  const Tensor rate = scalar_input(g, "rate");
  Tensor x = conv2d("conv1", image, 2, {.kernel = 3, .padding = 1});
  x = relu(batch_norm("bn1", x));
  x = max_pool2d(x, {.kernel = 2});
  x = linear("fc", flatten(x), 5) * 0.1;
  g.outputs.push_back({"loss", mean(cross_entropy(x, labels, rate)).value(), Merge::sum});
  g.outputs.push_back({"logits", x.value(), Merge::per_sample});
  return g;
}

void check_round_trip(const Graph& graph) {
  const std::string text = to_text(graph);
  const Graph parsed = test::parse_graph(text);
  BOOST_TEST(test::first_difference(text, to_text(parsed)) == "");
  BOOST_TEST(content_hash(parsed) == content_hash(graph));
  verify(parsed);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(text)

BOOST_AUTO_TEST_CASE(small_model_reads_well) { test::golden_in_order("small_model.txt", to_text(small_model())); }

// The picture has a scope in another, a node of several outputs, outputs and a state that is written.
BOOST_AUTO_TEST_CASE(graphviz) {
  Graph g("pooled \"model\"");
  const Tensor image = input(g, "image", DType::f32, {4, 3, 6, 6}, "NCHW");
  const Tensor old = state(g, "old", {DType::f32, {4, 2, 3, 3}, ""}, {});
  {
    const Scope block("block");
    const MaxPool pool = max_pool_with_index(conv2d("conv", image, 2, {.kernel = 3, .padding = 1}),
                                             {{2, 2}, {2, 2}, {0, 0}, {1, 1}}, {2, 3});
    write_state(old, pool.value * old);
    g.outputs.push_back({"index", pool.index.value(), Merge::per_sample});
  }
  test::golden_in_order("pooled_model.dot", to_graphviz(g));
}

BOOST_AUTO_TEST_CASE(round_trip) { check_round_trip(small_model()); }

BOOST_AUTO_TEST_CASE(round_trip_of_random_graphs) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      const Graph graph = test::random_graph(seed, {.smooth = seed % 3 == 0});
      verify(graph);
      check_round_trip(graph);
    }
  }
}

// A parsed graph computes the values of the original graph from the same bindings by name.
BOOST_AUTO_TEST_CASE(parsed_graph_computes_the_same) {
  const Graph graph = small_model(), parsed = test::parse_graph(to_text(graph));
  const Interpretation a = interpret(graph, random_bindings(graph, 5)),
                       b = interpret(parsed, random_bindings(graph, 5));
  BOOST_TEST(a.outputs.at("logits").data == b.outputs.at("logits").data);
  BOOST_TEST(a.writes.at("bn1.running_var").data == b.writes.at("bn1.running_var").data);
}

BOOST_AUTO_TEST_CASE(rates_of_parameters) {
  Graph g("rates");
  const Tensor x = linear("fc", input(g, "x", DType::f32, {4, 3}, "NC"), 5, {.rate = 0.1});
  g.outputs.push_back({"sum", sum(x).value(), Merge::first});
  check_round_trip(g);
  const Graph parsed = test::parse_graph(to_text(g));
  BOOST_TEST(parsed.find_variable("fc.weight")->rate == 0.1);
  BOOST_TEST(parsed.find_variable("fc.bias")->rate == 1);
}

BOOST_AUTO_TEST_CASE(awkward_names_and_numbers) {
  Graph g("a \"quoted\" name\\\nin two lines", Mode::inference);
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor c = constant(g, DType::f64, Dims{5},
                            std::vector<double>{0.1, -inf, inf, std::numeric_limits<double>::quiet_NaN(), -0.0});
  {
    Scope odd("2nd block/with blanks"), inner("0");
    g.outputs.push_back({"sum # of all", sum(c).value(), Merge::first});
  }
  check_round_trip(g);
  BOOST_TEST(test::contains(to_text(test::parse_graph(to_text(g))), "@\"2nd block/with blanks.0\""));
  const Graph parsed = test::parse_graph(to_text(g));
  BOOST_TEST(parsed.name == g.name);
  BOOST_TEST((parsed.mode == Mode::inference));
  g.mode = Mode::statistics;
  BOOST_TEST((test::parse_graph(to_text(g)).mode == Mode::statistics));
}

BOOST_AUTO_TEST_CASE(places) {
  const Graph g = small_model();
  const std::string text = to_text(g, {.places = true});
  BOOST_TEST(test::contains(text, "# text_test.cpp:"));
  BOOST_TEST(test::first_difference(to_text(g), to_text(test::parse_graph(text))) == "");
}

// Numbers that would be used as an index or a size are checked, whatever a text claims.
BOOST_AUTO_TEST_CASE(forged_numbers_are_refused) {
  const std::string head =
      "graph \"g\" training /* a comment\nof two lines */\nnodes\n  %0 = input {dtype=f32, kind=\"sample\", "
      "name=\"x\", "
      "names=\"\", shape=[1,1,2,2]} : f32[1,1,2,2]\n  %1 = ";
  const auto refused = [](const std::string& text) { return test::error_of([&] { test::parse_graph(text); }); };
  const auto sum_pool_grad = [&](const std::string& window) {
    return refused(head + "sum_pool_grad %0 {axes=[2,3], dilation=[1,1], " + window + "} : f32[1,1,9,9]");
  };
  BOOST_TEST(sum_pool_grad("input_size=[9,9], kernel=[2,2], padding=[0,0], stride=[2,2]") ==
             "graph text, line 5: expected [H, W]=[4, 4], got [1, 1, 2, 2]");
  BOOST_TEST(sum_pool_grad("input_size=[9,9], kernel=[2], padding=[0,0], stride=[2,2]") ==
             "graph text, line 5: expected two numbers [H, W], each from 1 to 1048576, got [2]");
  BOOST_TEST(refused(head + "conv2d_input_grad %0, %0 {channels=1, dilation=[1,1], groups=1, input_size=[3], "
                            "padding=[0,0], stride=[1,1]} : f32[1,1,3,3]") ==
             "graph text, line 5: expected input_size [H, W], got [3]");
  BOOST_TEST(refused(head + "conv2d %0, %0 {block_out=-1, dilation=[1,1], groups=1, padding=[0,0], stride=[1,1]} : "
                            "f32[1,1,1,1]") == "graph text, line 5: expected a divisor of 1, got -1");
  BOOST_TEST(refused(head + "pad %0 {high=[0,0,0,1], interior=[0,0,0,0], low=[0,0,0,0]} : f32[1,1,2,3]") ==
             "graph text, line 5: expected the attributes of pad, got attribute 'value' is missing");
  BOOST_TEST(refused(head + "input {below=0, dtype=i32, kind=\"sample\", name=\"i\", shape=[4]} : i32[4]") ==
             "graph text, line 5: expected i32 below 1 or more, got i32[4] below 0");
  const auto runs = [&](const std::string& values) {
    return refused("graph \"g\" training\nvariables\n  \"t\" : f32[4] table none runs(" + values + ")\nnodes");
  };
  BOOST_TEST(runs("-0x1p+0, 0x0p+0, 0x1.4p+2, 0x0p+0") ==
             "graph text: verify: graph \"g\": variable \"t\" has a run of -1 values");
  BOOST_TEST(runs("0x1.8p+0, 0x0p+0, 0x1.4p+1, 0x0p+0") ==
             "graph text: verify: graph \"g\": variable \"t\" has a run of 1.5 values");
}

BOOST_AUTO_TEST_CASE(errors_name_line_expected_and_got) {
  const std::string head =
      "graph \"g\" training\nnodes\n  %0 = input {dtype=f32, kind=\"sample\", name=\"x\", names=\"\", shape=[2,3]} : "
      "f32[2,3]\n";
  const auto check = [](const std::string& text, const std::string& message) {
    BOOST_CHECK_EXCEPTION(test::parse_graph(text), Error, [&](const Error& error) {
      BOOST_TEST(error.what() == message);
      return true;
    });
  };
  check("", "graph text, line 1: expected \"graph\", got the end of the text");
  check("graph 12", "graph text, line 1: expected a quoted name, got 12");
  check("graph \"g", "graph text, line 1: expected a closing \", got the end of the line");
  check("graph \"g\" test", "graph text, line 1: expected training | inference | statistics, got test");
  check("graph \"g\" training\n\noutputs", "graph text, line 3: expected \"nodes\", got outputs");
  check(head + "  %2 = relu %0 : f32[2,3]", "graph text, line 4: expected %1, got %2");
  check(head + "  %1 = rely %0 : f32[2,3]", "graph text, line 4: expected an op, got rely");
  check(head + "  %1 = relu %1 : f32[2,3]", "graph text, line 4: expected a value defined above, got %1");
  check(head + "  %1 = relu %0.1 : f32[2,3]", "graph text, line 4: expected a value defined above, got %0.1");
  check(head + "  %1 = relu %0. : f32[2,3]", "graph text, line 4: expected a value %N or %N.OUT, got %0.");
  check(head + "  %1 = relu %0 : f32[2,3", "graph text, line 4: expected ']', got the end of the text");
  check(head + "  %1 = relu %0 : f33[2,3]", "graph text, line 4: expected a dtype, got f33");
  check(head + "  %1 = relu %0 : f32[3,2]", "graph text, line 4: expected f32[2,3], got f32[3,2]");
  check(head + "  %1 = relu %0\n\n", "graph text, line 6: expected ':', got the end of the text");
  check(head + "  %1:2 = relu %0 : f32[2,3]", "graph text, line 4: expected 2 types, got 1");
  check(head + "  %1 = reduce_sum %0 {axes=[1], axes=[0]} : f32[2]",
        "graph text, line 4: expected each attribute once, got axes");
  check(head + "  %1 = reduce_sum %0 {axes=(1)} : f32[2]",
        "graph text, line 4: expected a number in hexadecimal, got 1");
  check(head + "  %1 = reduce_sum %0 {axes=[1z]} : f32[2]", "graph text, line 4: expected an integer, got 1z");
  check(head + "outputs\n  \"y\" = %7 sum", "graph text, line 5: expected a value defined above, got %7");
  check(head + "outputs\n  \"y\" = %0 last", "graph text, line 5: expected sum | first | per_sample, got last");
  check(head + "writes\n  \"y\" = %0", "graph text, line 5: expected the name of a variable above, got y");
  check(head + "writes\n  !", "graph text, line 5: expected the end of the text, got !");
  const std::string variables = "graph \"g\" training\nvariables\n  \"s\" : f32[2] state none ";
  check(variables + "constant(0x1p+0)\nnodes\n", "graph text, line 3: expected 2 numbers, got 1");
  check(variables + "runs(0x1p+0)\nnodes\n", "graph text, line 3: expected pairs of numbers, got 1");
  check(variables + "random(0x1p+0)\nnodes\n",
        "graph text, line 3: expected constant | normal | uniform | runs | truncated_normal | orthogonal, got random");
  check(
      variables + "constant(0x0p+0, 0x0p+0)\nnodes\n  %0 = iota {dtype=i32, shape=[2]} : i32[2]\nwrites\n  \"s\" = %0",
      "graph text, line 7: expected f32[2], got i32[2]");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::text_test
