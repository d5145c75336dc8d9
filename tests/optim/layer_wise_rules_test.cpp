// Tests two steps of every layer-wise rule against numbers worked out by hand. The layers are vectors such as (3, 4),
// whose norm is a whole number, and steps move them from one such vector to another.
#include "optim/layer_wise_rules.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "tests/optim/rule_run.h"

namespace kb::layer_wise_rules_test {
namespace {

using test::RuleRun;
using test::Vector;

void check_near(const Vector& got, const Vector& expected) {
  BOOST_REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i)
    BOOST_TEST(std::abs(got[i] - expected[i]) <= 1e-12,
               "element " << i << ": expected " << expected[i] << ", got " << got[i]);
}

// With a weight decay of 2 the decay term at (3, 4) is (6, 8). Together with the gradient (-8, -6), whose norm is 10,
// it is (-2, 2), and a step against it leads from (3, 4) towards (4, 3). From there the gradient (-6, -8) leads back.
constexpr double kDecay = 2, kNorm = 5, kGradientNorm = 10;
const Vector kStart = {3, 4}, kGradient = {-8, -6}, kTurned = {4, 3}, kBack = {-6, -8};

}  // namespace

BOOST_AUTO_TEST_SUITE(layer_wise_rules)

BOOST_AUTO_TEST_CASE(lars_keeps_the_rate_and_the_trust_in_the_velocity) {
  const double trust = 0.5, ratio = trust * kNorm / (kGradientNorm + kDecay * kNorm);  // 1/8
  RuleRun run("lars", {{"momentum", 0.5}, {"weight_decay", kDecay}, {"trust", trust}}, {{"w", kStart}});
  run.step(4, {kGradient});  // v = 4 ratio (-2, 2) = (-1, 1)
  check_near(run["scaled_velocity.w"], {-2 * 4 * ratio, 2 * 4 * ratio});
  check_near(run["w"], kTurned);
  run.step(8, {kBack});  // v = (-1, 1) / 2 + 8 ratio (2, -2) = (1.5, -1.5)
  check_near(run["w"], {4 - 1.5, 3 + 1.5});
}

// A layer that is not adapted has skip_lr as its greatest rate, and no decay.
BOOST_AUTO_TEST_CASE(lars_takes_a_bias_at_a_rate_of_its_own) {
  RuleRun run("lars", {{"momentum", 0.5}, {"weight_decay", kDecay}, {"trust", 0.5}, {"skip_lr", 0.25}},
              {{"w", kStart}, {"b", {3, 4}, Role::bias}});
  run.step(4, {kGradient, {2, 6}});
  check_near(run["w"], kTurned);
  check_near(run["b"], {3 - 0.25 * 2, 4 - 0.25 * 6});
  run.step(4, {kBack, {4, 8}});
  check_near(run["b"], {2.5 - (0.5 * 0.5 + 0.25 * 4), 2.5 - (0.5 * 1.5 + 0.25 * 8)});
}

BOOST_AUTO_TEST_CASE(a_rate_of_zero_leaves_all_layers) {
  RuleRun run("lars", {{"skip_lr", 0.25}}, {{"w", kStart}, {"b", {3, 4}, Role::bias}});
  run.step(0, {kGradient, {2, 6}});
  check_near(run["w"], kStart);
  check_near(run["b"], {3, 4});
}

BOOST_AUTO_TEST_CASE(lars_mlperf_adds_epsilon_to_the_norms) {
  const double epsilon = 20, trust = 0.5, ratio = trust * kNorm / (kGradientNorm + kDecay * kNorm + epsilon);  // 1/16
  RuleRun run("lars-mlperf", {{"momentum", 0.5}, {"weight_decay", kDecay}, {"trust", trust}, {"epsilon", epsilon}},
              {{"w", kStart}});
  run.step(8, {kGradient});
  check_near(run["w"], {3 + 8 * ratio * 2, 4 - 8 * ratio * 2});  // (4, 3)
  run.step(16, {kBack});                                         // v = (-1, 1) / 2 + 16 ratio (2, -2) = (1.5, -1.5)
  check_near(run["w"], {4 - 1.5, 3 + 1.5});
}

// Nesterov's step goes half a velocity further, which in the first step makes 1.5 times the move. The rate is chosen so
// that this step is (-1, 1).
BOOST_AUTO_TEST_CASE(lars_mlperf_with_nesterov_looks_ahead) {
  const double trust = 0.5, ratio = trust * kNorm / (kGradientNorm + kDecay * kNorm), rate = 0.5 / (1.5 * ratio);
  RuleRun run("lars-mlperf", {{"momentum", 0.5}, {"weight_decay", kDecay}, {"trust", trust}, {"nesterov", 1}},
              {{"w", kStart}});
  run.step(rate, {kGradient});  // v = (-2, 2) / 3
  check_near(run["scaled_velocity.w"], {-2.0 / 3, 2.0 / 3});
  check_near(run["w"], kTurned);
  run.step(2 * rate, {kBack});  // the move is (4, -4) / 3, v = (-1, 1) / 3 + (4, -4) / 3 = (1, -1)
  check_near(run["scaled_velocity.w"], {1, -1});
  check_near(run["w"], {4 - (0.5 + 4.0 / 3), 3 + (0.5 + 4.0 / 3)});
}

BOOST_AUTO_TEST_CASE(lars_unscaled_keeps_the_trust_alone_in_the_velocity) {
  const double trust = 0.5, ratio = trust * kNorm / (kGradientNorm + kDecay * kNorm);
  RuleRun run("lars-unscaled", {{"momentum", 0.5}, {"weight_decay", kDecay}, {"trust", trust}}, {{"w", kStart}});
  run.step(4, {kGradient});  // u = ratio (-2, 2)
  check_near(run["velocity.w"], {-2 * ratio, 2 * ratio});
  check_near(run["w"], kTurned);
  run.step(8, {kBack});  // u = ratio (-1, 1) + ratio (2, -2)
  check_near(run["w"], {4 - 8 * ratio, 3 + 8 * ratio});
}

BOOST_AUTO_TEST_CASE(lars_plain_has_a_trust_coefficient_of_1) {
  const double ratio = kNorm / (kGradientNorm + kDecay * kNorm);  // 1/4
  RuleRun run("lars-plain", {{"momentum", 0.5}, {"weight_decay", kDecay}}, {{"w", kStart}, {"small", {0.003, 0.004}}});
  run.step(2, {kGradient, {1, 2}});
  check_near(run["w"], {3 + 2 * ratio * 2, 4 - 2 * ratio * 2});  // (4, 3)
  // A norm of 0.005 is below 0.01: the trust is 1.
  check_near(run["small"], {0.003 - 2 * (1 + kDecay * 0.003), 0.004 - 2 * (2 + kDecay * 0.004)});
  run.step(4, {kBack, {0, 0}});  // v = (-1, 1) / 2 + 4 ratio (2, -2) = (1.5, -1.5)
  check_near(run["w"], {4 - 1.5, 3 + 1.5});
}

BOOST_AUTO_TEST_CASE(larc_below_its_clip_has_the_rate_of_the_layer) {
  const double epsilon = 20, trust = 4, ratio = trust * kNorm / (kGradientNorm + kDecay * kNorm + epsilon);  // 1/2
  RuleRun run("larc", {{"momentum", 0.25}, {"weight_decay", kDecay}, {"trust", trust}, {"epsilon", epsilon}},
              {{"w", kStart}});
  run.step(2, {kGradient});  // u = ratio / 2 (-2, 2) = (-0.5, 0.5)
  check_near(run["velocity.w"], {-ratio, ratio});
  check_near(run["w"], kTurned);
  run.step(4, {kBack});  // u = (-0.5, 0.5) / 4 + ratio / 4 (2, -2) = (0.125, -0.125)
  check_near(run["w"], {4 - 4 * 0.125, 3 + 4 * 0.125});
}

// The layer's own rate, about 1/2, is above the learning rate of 1/4, so the rule is momentum on the decayed gradient.
BOOST_AUTO_TEST_CASE(larc_above_its_clip_has_the_learning_rate) {
  RuleRun run("larc", {{"momentum", 0.25}, {"weight_decay", kDecay}, {"trust", 2}, {"epsilon", 0}}, {{"w", kStart}});
  run.step(0.25, {kGradient});  // u = (-2, 2)
  check_near(run["w"], {3.5, 3.5});
  run.step(0.125, {kBack});  // u = (-2, 2) / 4 + (-6 + 7, -8 + 7) = (0.5, -0.5)
  check_near(run["w"], {3.5 - 0.125 * 0.5, 3.5 + 0.125 * 0.5});
}

// NVIDIA's LARC leaves a layer whose norm is 0 to the optimizer around which it stands, at any rate.
BOOST_AUTO_TEST_CASE(larc_is_momentum_where_a_norm_is_zero) {
  RuleRun run("larc", {{"momentum", 0.5}, {"trust", 0.5}}, {{"w", {0, 0}}});
  run.step(4, {{1, -2}});
  check_near(run["w"], {-4, 8});
  run.step(4, {{0, 0}});
  check_near(run["w"], {-4 - 0.5 * 4, 8 + 0.5 * 8});
}

// The direction has no norm: the layer stays, and no number of it is lost.
BOOST_AUTO_TEST_CASE(lamb_leaves_a_layer_without_gradient_and_decay) {
  RuleRun run("lamb", {{"weight_decay", 0}}, {{"w", kStart}});
  for (int step = 0; step < 2; ++step) run.step(0.5, {{0, 0}});
  check_near(run["w"], kStart);
}

// After one step the mean is half the gradient and the root of the mean square a quarter of it, so with epsilon 1 the
// gradient (4, -4) has the direction (1, -1), from 2 / (1 + 1) = 1. Decay adds half of w = (6, 8), which makes (4, 3);
// the trust ratio is a norm of 10 over one of 5.
BOOST_AUTO_TEST_CASE(lamb_without_bias_correction) {
  RuleRun run("lamb",
              {{"beta1", 0.5}, {"beta2", 15.0 / 16}, {"epsilon", 1}, {"weight_decay", 0.5}, {"bias_correction", 0}},
              {{"w", {6, 8}}});
  run.step(0.75, {{4, -4}});
  check_near(run["w"], {6 - 0.75 * 10 / 5 * 4, 8 - 0.75 * 10 / 5 * 3});  // (0, 3.5)
  // The means are (1 + 3.5, -1 + 0.5) and the mean squares (15 + 49, 15 + 1) / 16, so the direction with its decay is
  // (4.5 / (2 + 1), -0.5 / (1 + 1) + 3.5 / 2).
  run.step(0.5, {{7, 1}});
  const double size = std::hypot(1.5, 1.5);
  check_near(run["w"], {-0.5 * 3.5 / size * 1.5, 3.5 - 0.5 * 3.5 / size * 1.5});
}

// With bias correction the first direction is the gradient's sign. In the second step the mean is (1, 0), divided by
// 1 - 1/4, and the mean square is (1, 1), divided by 1 - 9/16.
BOOST_AUTO_TEST_CASE(lamb_with_bias_correction) {
  RuleRun run("lamb", {{"beta1", 0.5}, {"beta2", 0.75}, {"epsilon", 0}, {"weight_decay", 0.5}}, {{"w", {6, 8}}});
  run.step(0.75, {{2, -2}});
  check_near(run["w"], {6 - 0.75 * 10 / 5 * 4, 8 - 0.75 * 10 / 5 * 3});  // (0, 3.5)
  run.step(0.5, {{1, 1}});
  const double ahead = 1 / 0.75 / std::sqrt(16.0 / 7), down = 3.5 / 2, size = std::hypot(ahead, down);
  check_near(run["w"], {-0.5 * 3.5 / size * ahead, 3.5 - 0.5 * 3.5 / size * down});
}

// With phi_max = 5 a norm of 10 counts as 5, and a norm of 3.5 as 3.5.
BOOST_AUTO_TEST_CASE(lamb_with_a_greatest_norm) {
  RuleRun run("lamb", {{"beta1", 0.5}, {"beta2", 0.75}, {"epsilon", 0}, {"weight_decay", 0.5}, {"phi_max", 5}},
              {{"w", {6, 8}}});
  run.step(1.5, {{2, -2}});
  check_near(run["w"], {6 - 1.5 * 5 / 5 * 4, 8 - 1.5 * 5 / 5 * 3});  // (0, 3.5)
  run.step(0.5, {{1, 1}});
  const double ahead = 1 / 0.75 / std::sqrt(16.0 / 7), down = 3.5 / 2, size = std::hypot(ahead, down);
  check_near(run["w"], {-0.5 * 3.5 / size * ahead, 3.5 - 0.5 * 3.5 / size * down});
}

// The share of the plain step is 1/2 in epoch 0 and 1/2 + 1/4 in epoch 1. The decayed gradient 3 + 2/2 = 4 makes the
// mean square 4.
BOOST_AUTO_TEST_CASE(rmsprop_warmup_goes_over_into_momentum) {
  RuleRun run("rmsprop-warmup",
              {{"momentum", 0.5},
               {"weight_decay", 0.5},
               {"beta2", 0.75},
               {"epsilon", 2},
               {"rms_lr", 0.5},
               {"center_epoch", 0},
               {"period_epochs", 4}},
              {{"w", {2}}});
  run.step(0.25, {{3}});
  const double first = -(0.5 + 0.5 * 0.5 / 0.25 / (2 + 2)) * 4;  // -3
  check_near(run["velocity.w"], {first});
  check_near(run["w"], {2 + 0.25 * first});  // 1.25
  // The decayed gradient 2 keeps the mean square at 3 + 1 = 4.
  run.step(0.5, {{2 - 0.5 * 1.25}});
  const double second = 0.5 * first - (0.75 + 0.25 * 0.5 / 0.5 / (2 + 2)) * 2;
  check_near(run["w"], {1.25 + 0.5 * second});
}

BOOST_AUTO_TEST_CASE(rmsprop_warmup_begins_exponentially_and_ends_plain) {
  const std::vector<NamedScalar> common = {{"momentum", 0}, {"beta2", 0.75}, {"epsilon", 0}, {"rms_lr", 0.5}};
  const auto with_center = [&](double center, double period) {
    std::vector<NamedScalar> hyper = common;
    hyper.insert(hyper.end(), {{"center_epoch", center}, {"period_epochs", period}});
    RuleRun run("rmsprop-warmup", hyper, {{"w", {2}}});
    run.step(0.25, {{4}});
    const double first = run["w"][0];
    run.step(0.25, {{4}});
    return Vector{first, run["w"][0] - first};
  };
  // With the center at epoch 2 the plain shares of epochs 0 and 1 are half of 1/e and half of 1/sqrt(e). The mean
  // squares are 4 and 3 + 4.
  const double a = 0.5 * std::exp(-1.0), b = 0.5 * std::exp(-0.5);
  check_near(with_center(2, 4),
             {2 - 0.25 * a * 4 - 0.5 * (1 - a) / 2 * 4, -0.25 * b * 4 - 0.5 * (1 - b) / std::sqrt(7.0) * 4});
  // From half a period past the center on the step is gradient descent.
  check_near(with_center(0, 2), {2 - 0.25 * 0.5 * 4 - 0.5 * 0.5 / 2 * 4, -0.25 * 4});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::layer_wise_rules_test
