#include "recipes/inspect/inspect.h"

#include <boost/test/unit_test.hpp>

#include <sstream>

#include "graph/layers.h"
#include "tests/support/compile_check.h"
#include "tests/support/support.h"

namespace kb::inspect_test {
namespace {

// A net with every initialiser, and a parameter of the user's own beside it.
Graph small_net() {
  Graph graph("small");
  Tensor x = input(graph, "x", DType::f32, {4, 3, 8, 8}, "NCHW");
  x = relu(batch_norm("bn1", conv2d("conv1", x, 16, {.padding = 1})));
  x = relu(batch_norm("bn2", conv2d("conv2", x, 16, {.padding = 1, .bias = true}), {.init = zeros}));
  x = relu(linear("fc1", flatten(x), 32, {.bias = false, .init = he_normal(fan_in)}));
  x = layer_norm("ln", linear("fc2", x, 10, {.init = normal(0.01)}));
  x = x * parameter(graph, "temperature", Role::bias, {DType::f32, {}, ""}, {InitKind::constant, 0.35, 0});
  graph.outputs.push_back({"loss", mean(x * x).value(), Merge::sum});
  return graph;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(inspect)

BOOST_AUTO_TEST_CASE(every_parameter_is_told_with_its_initial_distribution) {
  CompileOptions options;
  options.target = generic_cpu_target();
  options.groups = {{.rule = test::momentum_sgd()}};
  const Compiled training = compile(small_net(), options);
  test::golden("parameters.txt", parameter_lines(training.space));
  BOOST_TEST(inspection_text(training, LoadReport{}).starts_with(parameter_lines(training.space)));
  size_t columns = 1000;
  for (const auto& [width, left_out] :
       {std::pair{200, "none"}, {85, "uniform_fan_in"}, {72, "role"}, {58, "initial"}}) {
    const std::string text = parameter_lines(training.space, width);
    BOOST_TEST(!test::contains(text, left_out), text);
    const size_t now = text.find('\n');
    BOOST_TEST(now <= columns);
    columns = now;
  }
}

BOOST_AUTO_TEST_CASE(rates_of_parameters_have_a_column_if_they_differ) {
  for (const double rate : {1.0, 0.125}) {
    Graph graph = small_net();
    graph.variables.front().rate = rate;
    CompileOptions options;
    options.target = generic_cpu_target();
    options.groups = {{.rule = test::momentum_sgd()}};
    const std::string text = parameter_lines(compile(std::move(graph), options).space);
    BOOST_TEST((text.find("elements    rate  initial values") != std::string::npos) == (rate != 1), text);
    BOOST_TEST((text.find("432  x 0.125  he_normal") != std::string::npos) == (rate != 1), text);
  }
}

// No line is longer than the columns. A narrower table leaves out the launches' classes, then the model's source lines.
BOOST_AUTO_TEST_CASE(the_schedule_fits_its_columns) {
  CompileOptions options;
  options.target = generic_cpu_target();
  options.groups = {{.rule = test::momentum_sgd()}};
  const Compiled training = compile(small_net(), options);
  for (const int columns : {80, 100, 120, 160}) {
    const std::string table = schedule_lines(training.program, columns) + peak_lines(training.program, columns);
    std::istringstream lines(table);
    for (std::string line; std::getline(lines, line);) BOOST_TEST(line.size() <= static_cast<size_t>(columns), line);
    BOOST_TEST(test::contains(table, "gradient of conv 3x3, weights  conv2"));
    BOOST_TEST((table.find("inspect_test.cpp:") != std::string::npos) == (columns >= 100), table);
    BOOST_TEST((table.find("column_reduce") != std::string::npos) == (columns >= 160), table);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::inspect_test
