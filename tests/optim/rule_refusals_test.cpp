// Update rules that cannot be compiled are refused with a message that names the mistake.
#include <fmt/format.h>

#include <boost/test/unit_test.hpp>

#include "graph/error.h"
#include "graph/functions.h"
#include "optim/optimizer.h"
#include "optim/update_rules.h"
#include "tests/support/compile_check.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::rule_refusals_test {
namespace {

std::string compile_message(const UpdateRule& rule) {
  CompileOptions options;
  options.target = generic_cpu_target();
  options.groups = {{.rule = rule}};
  return test::error_of([&] { compile(test::small_convnet(2), options); });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(rule_refusals)

BOOST_AUTO_TEST_CASE(mistakes_in_a_rule_are_named) {
  Optimizer own{"own", "for tests", [](UpdateContext& c) { return c.parameter - c.scalar("lr") * c.gradient; }};
  own.hyper[0] = {"rho", 0.5, "for tests"};
  BOOST_TEST(compile_message(update_rule(own)) ==
             "optimizer own reads the scalar 'lr', which nothing sets; it has learning_rate, previous_learning_rate, "
             "updates, rho");
  BOOST_TEST(compile_message([](UpdateContext& c) {
               const Tensor ahead = c.gradient_offset("ahead");
               return ahead + c.gradient_offset("far");
             }) == "the update rule takes its gradient at two offsets, 'ahead' and 'far'");
  BOOST_TEST(compile_message([](UpdateContext& c) { return c.parameter - c.slot("mean"); }) ==
             "the update rule reads its slot 'mean' but never sets it: it would stay zero");
  BOOST_TEST(compile_message([](UpdateContext& c) {
               c.set_slot("mean", c.gradient);
               c.set_slot("mean", c.gradient);
               return c.parameter;
             }) == "the update rule sets its slot 'mean' twice");
  BOOST_TEST(
      compile_message([](UpdateContext& c) {
        return c.scalar("learning_rate");
      }).starts_with("the update rule gives f32[] for flat.parameters: expected a value for every parameter, f32["));
}

BOOST_AUTO_TEST_CASE(values_of_a_rule_have_their_shapes) {
  const auto refused = [](const UpdateRule& rule, const std::string& start) {
    const std::string message = compile_message(rule);
    BOOST_TEST(message.starts_with(start), message);
  };
  const std::string empty = "the update rule gives a Tensor that was never assigned for ";
  refused([](UpdateContext&) { return Tensor(); },
          empty + "flat.parameters: expected a value for every parameter, f32[");
  refused([](UpdateContext& c) { return c.set_slot("m", Tensor()), c.parameter; }, empty + "flat.m: expected a value");
  refused([](UpdateContext& c) { return cast(c.parameter, DType::f64); }, "the update rule gives f64[");
  refused([](UpdateContext& c) { return c.parameter - c.spread(c.gradient); }, "the update rule gives f32[");
  refused([](UpdateContext& c) { return c.parameter - c.spread(c.norm(c.scalar("learning_rate"))); },
          "the update rule gives f32[] for a norm: expected a value for every parameter, f32[");
  BOOST_CHECK_EXCEPTION(update_rule(Optimizer{"own", "for tests"}), Error, test::says("own has no update rule"));
}

// A rule sees a table of all layers, so an op that reads more than one element of it would mix layers.
BOOST_AUTO_TEST_CASE(a_rule_is_point_wise) {
  const auto refused = [](const char* op, const UpdateRule& rule) {
    const std::string message = compile_message(rule);
    BOOST_TEST(message.starts_with(fmt::format("the update rule calls {}, which is not point-wise", op)), message);
    BOOST_TEST(test::contains(message, fmt::format("got:      {} at rule_refusals_test.cpp:", op)));
  };
  refused("matmul", [](UpdateContext& c) {  // an orthogonal gradient would begin like this
    return c.parameter - matmul(matmul(c.gradient, c.gradient, false, true), c.gradient);
  });
  refused("reduce_sum", [](UpdateContext& c) { return c.parameter - c.gradient / sum(abs(c.gradient)); });
  refused("transpose", [](UpdateContext& c) { return c.parameter - transpose(c.gradient, {1, 0}); });
  refused("reshape", [](UpdateContext& c) { return reshape(c.gradient, {-1}); });
  refused("slice", [](UpdateContext& c) { return c.parameter - slice(c.gradient, 0, 0, 1); });
  refused("reduce_max", [](UpdateContext& c) { return c.parameter - c.gradient * max(c.spread(c.norm(c.gradient))); });
  refused("moments", [](UpdateContext& c) { return c.parameter - moments(c.gradient, {1}).mean; });
  // Norms have one value per layer and may be summed: the result is the norm over all layers.
  BOOST_TEST(compile_message([](UpdateContext& c) {
               const Tensor layers = c.norm(c.gradient);
               return c.parameter - c.gradient / (1.0 + sqrt(sum(layers * layers))) * c.spread(layers);
             }) == "(nothing thrown)");
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace kb::rule_refusals_test
