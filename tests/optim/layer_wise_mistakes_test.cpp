// Every case would find one mistake that layer-wise rules have had in other frameworks.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "optim/layer_wise_rules.h"
#include "tests/optim/rule_run.h"

namespace kb::layer_wise_mistakes_test {
namespace {

using test::Layer;
using test::RuleRun;
using test::Vector;

constexpr double kTrust = 0.5;
const std::string kLars[] = {"lars", "lars-mlperf", "lars-unscaled", "lars-plain", "larc"};

void check_near(const Vector& got, const Vector& expected, const std::string& what) {
  BOOST_REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i)
    BOOST_TEST(std::abs(got[i] - expected[i]) <= 1e-12,
               what << ", element " << i << ": expected " << expected[i] << ", got " << got[i]);
}

// Returns those of the hyper-parameters that the optimizer reads.
std::vector<NamedScalar> read_of(const std::string& optimizer, std::vector<NamedScalar> hyper) {
  std::erase_if(hyper, [&](const NamedScalar& one) { return !test::optimizer_named(optimizer).reads(one.name); });
  return hyper;
}

double trust_of(const std::string& optimizer) { return optimizer == "lars-plain" ? 1 : kTrust; }

// Returns a run of a rule of the LARS family. With a rate of 1 all of these rules agree, larc if it is not clipped.
RuleRun lars_run(const std::string& optimizer, double decay, const std::vector<Layer>& layers,
                 CompileOptions options = RuleRun::f64_options()) {
  const std::vector<NamedScalar> hyper = {{"momentum", 0}, {"weight_decay", decay}, {"trust", kTrust}, {"epsilon", 0}};
  return {optimizer, read_of(optimizer, hyper), layers, std::move(options)};
}

Vector minus(const Vector& w, double rate, const Vector& direction) {
  Vector result;
  for (size_t i = 0; i < w.size(); ++i) result.push_back(w[i] - rate * direction[i]);
  return result;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(layer_wise_mistakes)

// Biases and the parameters of norms are left out of decay and adaptation by their role, not by their name.
BOOST_AUTO_TEST_CASE(roles_that_are_left_out_take_the_plain_step) {
  const Vector w = {3, 4}, g = {8, -6};
  for (const std::string& optimizer : kLars) {
    RuleRun run = lars_run(optimizer, 1,
                           {{"bias_of_nothing", w, Role::weight},
                            {"table", w, Role::embedding},
                            {"free", w, Role::none},
                            {"weight", w, Role::bias},
                            {"scale", w, Role::norm_scale},
                            {"shift", w, Role::norm_shift}});
    run.step(1, {g, g, g, g, g, g});
    const double ratio = trust_of(optimizer) * 5 / (10 + 5);
    for (const char* name : {"bias_of_nothing", "table", "free"})
      check_near(run[name], minus(w, ratio, {8 + 3, -6 + 4}), optimizer + " " + name);
    for (const char* name : {"weight", "scale", "shift"}) check_near(run[name], minus(w, 1, g), optimizer + " " + name);
  }
}

// Without an epsilon a layer without weights, or one without a gradient, must not be divided by 0.
BOOST_AUTO_TEST_CASE(an_epsilon_of_0_makes_no_nan) {
  for (const std::string& optimizer : kLars)
    for (const double decay : {0.0, 1.0}) {
      RuleRun run = lars_run(optimizer, decay, {{"no_weight", {0, 0}}, {"no_gradient", {3, 4}}, {"neither", {0, 0}}});
      run.step(1, {{8, -6}, {0, 0}, {0, 0}});
      check_near(run["no_weight"], {-8, 6}, optimizer);
      check_near(run["no_gradient"], {3 - decay * 3, 4 - decay * 4}, optimizer);
      check_near(run["neither"], {0, 0}, optimizer);
    }
}

BOOST_AUTO_TEST_CASE(without_weight_decay_the_trust_ratio_stays) {
  const Vector w = {3, 4}, g = {8, -6};
  for (const std::string& optimizer : kLars) {
    RuleRun run = lars_run(optimizer, 0, {{"w", w}});
    run.step(1, {g});
    check_near(run["w"], minus(w, trust_of(optimizer) * 5 / 10, g), optimizer);
  }
  // The direction of LAMB's first step is the gradient's sign, so the trust ratio is a norm of 5 over one of sqrt(2).
  RuleRun lamb("lamb", {{"weight_decay", 0}, {"epsilon", 0}}, {{"w", w}});
  lamb.step(1, {g});
  check_near(lamb["w"], minus(w, 5 / std::sqrt(2.0), {1, -1}), "lamb");
}

// With a rate of 0 the second step takes nothing of its gradient. A velocity that holds the rate of the first step, as
// in algorithm 1 of You et al. 2017, moves the layer on; a velocity without a rate does not.
BOOST_AUTO_TEST_CASE(the_rate_scales_the_incoming_gradient_and_not_the_velocity) {
  for (const std::string optimizer : {"lars", "lars-mlperf", "lars-plain", "lars-unscaled"}) {
    const std::vector<NamedScalar> hyper = {{"momentum", 0.5}, {"weight_decay", 0}, {"trust", kTrust}};
    RuleRun run(optimizer, read_of(optimizer, hyper), {{"w", {3, 4}}});
    run.step(1, {{8, -6}});
    const double ratio = trust_of(optimizer) * 5 / 10;
    const Vector moved = minus({3, 4}, ratio, {8, -6});
    check_near(run["w"], moved, optimizer);
    run.step(0, {{100, 100}});
    check_near(run["w"], minus(moved, optimizer == "lars-unscaled" ? 0 : 0.5 * ratio, {8, -6}), optimizer);
  }
}

// The gradient is at a right angle to the layer, so only the decay moves the layer along its own direction.
BOOST_AUTO_TEST_CASE(decay_is_in_the_direction_and_not_in_the_norm_alone) {
  for (const std::string& optimizer : kLars) {
    RuleRun run = lars_run(optimizer, 2, {{"w", {3, 4}}});
    run.step(1, {{8, -6}});
    const Vector w = run["w"];
    const double along = (w[0] * 3 + w[1] * 4) / 5, ratio = trust_of(optimizer) * 5 / (10 + 2 * 5);
    BOOST_TEST(std::abs(along - 5 * (1 - 2 * ratio)) <= 1e-12, optimizer);
  }
  // LAMB's direction is (1, -1) + 2 (3, 4) = (7, 7).
  RuleRun lamb("lamb", {{"weight_decay", 2}, {"epsilon", 0}}, {{"w", {3, 4}}});
  lamb.step(1, {{8, -6}});
  check_near(lamb["w"], minus({3, 4}, 5 / std::sqrt(2.0), {1, 1}), "lamb");
}

// A layer whose norm is 0 has a trust of 1, whether biases are adapted or not. A comparison by >= in place of > would
// give it a trust of 0 for ever.
BOOST_AUTO_TEST_CASE(a_bias_that_starts_at_0_is_updated) {
  for (const bool adapted : {true, false}) {
    CompileOptions options = RuleRun::f64_options();
    if (adapted) options.groups[0].no_adapt = {};
    for (const std::string& optimizer : kLars) {
      RuleRun run = lars_run(optimizer, 0, {{"b", {0, 0}, Role::bias}}, options);
      run.step(1, {{3, -4}});
      check_near(run["b"], {-3, 4}, optimizer);
      run.step(1, {{-30, 40}});
      const double ratio = adapted ? trust_of(optimizer) * 5 / 50 : 1;
      check_near(run["b"], {-3 + 30 * ratio, 4 - 40 * ratio}, optimizer);
    }
    RuleRun lamb("lamb", {{"weight_decay", 0}, {"epsilon", 0}}, {{"b", {0, 0}, Role::bias}}, options);
    lamb.step(0.5, {{3, -4}});
    check_near(lamb["b"], {-0.5, 0.5}, "lamb");
  }
}

// Decay and adaptation of a bias are switched on and off in all four combinations. A layer that does not decay has a
// weight decay of 0, in the norms too.
BOOST_AUTO_TEST_CASE(decay_and_adaptation_are_left_out_separately) {
  const Vector b = {3, 4}, g = {8, -6}, decayed = {8 + 3, -6 + 4};
  for (const bool decays : {true, false})
    for (const bool adapts : {true, false}) {
      CompileOptions options = RuleRun::f64_options();
      options.groups[0].no_decay = decays ? std::vector<Role>{} : std::vector<Role>{Role::bias};
      options.groups[0].no_adapt = adapts ? std::vector<Role>{} : std::vector<Role>{Role::bias};
      for (const std::string& optimizer : kLars) {
        RuleRun run = lars_run(optimizer, 1, {{"b", b, Role::bias}, {"w", b}}, options);
        run.step(1, {g, g});
        const double ratio = adapts ? trust_of(optimizer) * 5 / (10 + (decays ? 5 : 0)) : 1;
        const std::string what = optimizer + (decays ? ", decays" : "") + (adapts ? ", adapts" : "");
        check_near(run["b"], minus(b, ratio, decays ? decayed : g), what);
        check_near(run["w"], minus(b, trust_of(optimizer) * 5 / (10 + 5), decayed), what);
      }
      // LAMB's direction is (1, -1), and with the decay, half of the bias, added it is (2.5, 1).
      RuleRun lamb("lamb", {{"weight_decay", 0.5}, {"epsilon", 0}}, {{"b", b, Role::bias}}, options);
      lamb.step(1, {g});
      const Vector direction = decays ? Vector{2.5, 1} : Vector{1, -1};
      check_near(lamb["b"], minus(b, adapts ? 5 / std::hypot(direction[0], direction[1]) : 1, direction), "lamb");
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::layer_wise_mistakes_test
