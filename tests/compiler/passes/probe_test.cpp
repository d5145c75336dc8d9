// Tests that the op which made the first value that is not finite is named, and that infinities which do no harm are
// not.
#include "compiler/passes/probe.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "compiler/passes/passes.h"
#include "graph/functions.h"
#include "graph/interpreter.h"
#include "tests/support/compile_check.h"

namespace kb::probe_test {
namespace {

constexpr int64_t kRows = 4;

// A graph from x [4] to a loss; a test chooses the first element of x.
struct Case {
  Graph graph{"probed"};
  Tensor x = input(graph, "x", DType::f32, {kRows}, "N");

  std::string origin(const Tensor& loss, double first) {
    graph.outputs.push_back({"loss", sum(loss).value(), Merge::sum, OutputKind::loss});
    const Probes probes = find_probes(graph);
    Graph probed = with_probes(probes);
    const Bindings bindings{{"x", {{DType::f32, {kRows}, ""}, {first, 1, 2, 3}}}};
    const Interpretation result = interpret(probed, bindings);
    std::vector<double> found;
    for (size_t i = 0; i < probes.values.size(); ++i) found.push_back(result.outputs.at(probe_name(i)).data.at(0));
    return origin_of_not_finite(probes, found);
  }
};

std::string here(int line) { return fmt::format("probe_test.cpp:{}", line); }

}  // namespace

BOOST_FIXTURE_TEST_SUITE(probe, Case)

BOOST_AUTO_TEST_CASE(all_finite_has_no_origin) { BOOST_TEST(origin(log(x), 1) == ""); }

BOOST_AUTO_TEST_CASE(the_op_that_makes_nan_is_named_with_scope_and_line) {
  const Scope scope("head");
  const Tensor y = log(x), z = exp(y * 2.0);
  const int line = __LINE__ - 1;
  BOOST_TEST(origin(z, -1) == "log in head at " + here(line) + ", f32[N=4], makes NaN of finite inputs");
}

BOOST_AUTO_TEST_CASE(an_infinity_that_becomes_nan_is_named_too) {
  const Tensor y = exp(x);
  const int line = __LINE__ - 1;
  const Tensor z = reshape(y, {2, 2}) - reshape(y, {2, 2});
  BOOST_TEST(origin(z, 200) == fmt::format("exp at {}, f32[N=4], makes an infinity of finite inputs; sub at {}, "
                                           "f32[2,2], makes NaN of that",
                                           here(line), here(line + 2)));
}

BOOST_AUTO_TEST_CASE(an_infinite_loss_is_named) {
  const Tensor y = exp(x);
  const int line = __LINE__ - 1;
  BOOST_TEST(origin(y, 200) == "exp at " + here(line) + ", f32[N=4], makes an infinity of finite inputs");
}

// A mask of -inf and a branch that is not taken do no harm to the loss.
BOOST_AUTO_TEST_CASE(what_does_not_reach_the_loss_is_passed_over) {
  const Tensor positive = gt(x, 0.0);
  const Tensor masked = select(positive, x, full_like(x, -INFINITY));
  const Tensor taken = select(positive, log(x), full_like(x, 0.0)), y = sqrt(x);
  const int line = __LINE__ - 1;
  BOOST_TEST(origin(exp(masked) + taken + y, -1) == "sqrt at " + here(line) + ", f32[N=4], makes NaN of finite inputs");
}

BOOST_AUTO_TEST_CASE(a_value_that_came_so_is_named) {
  BOOST_TEST(origin(x * 2.0, NAN) == "the input \"x\" is not finite");
}

// A graph with probes compiles and computes the interpreter's values, with gradients too.
BOOST_AUTO_TEST_CASE(probes_compile) {
  CompileOptions options;
  options.target = generic_cpu_target();
  options.groups = {{.rule = test::plain_sgd()}};
  CompileState state{options, {}, {}};
  const Probes probes = find_probes(differentiate(test::small_convnet(2), state));
  BOOST_TEST(probes.values.size() > 50u);
  const Compiled compiled = test::check_compiled(with_probes(probes));
  BOOST_TEST(compiled.program.at(PartRole::final).graph->outputs.size() == probes.values.size());
  BOOST_TEST(compiled.program.at(PartRole::final).graph->writes.empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::probe_test
