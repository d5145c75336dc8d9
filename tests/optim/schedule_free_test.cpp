// Tests schedule-free optimizers on a quadratic loss, whose gradient depends on the point where it is taken.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <memory>

#include "graph/functions.h"
#include "optim/optimizer.h"
#include "runtime/session.h"
#include "tests/optim/rule_run.h"

namespace kb::schedule_free_test {
namespace {

constexpr int64_t kSize = 5;
const test::Vector kCurvature = {0.2, 0.5, 1, 2, 3}, kMinimum = {1, -2, 0.5, 3, -1}, kStart = {2, 1, -1, 0, 4};

// Returns the loss sum(h (w - m)^2 / 2), with curvatures h and the minimum m.
Graph quadratic(const char* mode) {
  Graph graph(mode);
  Tensor w = parameter(graph, "w", Role::weight, {DType::f64, {kSize}, ""}, {});
  Tensor off = w - constant(graph, DType::f64, {kSize}, kMinimum);
  Tensor loss = 0.5 * sum(constant(graph, DType::f64, {kSize}, kCurvature) * off * off);
  graph.outputs.push_back({"loss", loss.value(), Merge::sum});
  return graph;
}

double loss_at(const test::Vector& w) {
  double loss = 0;
  for (size_t i = 0; i < w.size(); ++i) loss += kCurvature[i] * (w[i] - kMinimum[i]) * (w[i] - kMinimum[i]) / 2;
  return loss;
}

double slope(size_t i, double w) { return kCurvature[i] * (w - kMinimum[i]); }

LearningRate warm(double rate, int64_t steps) {
  return LearningRate({.learning_rate = rate, .warmup_epochs = 4, .warmup_start = 0, .total_steps = steps});
}

// A training program and an evaluation program, which share parameters.
class Training {
 public:
  Training(const std::string& name, LearningRate rate, const std::vector<NamedScalar>& hyper)
      : optimizer_(test::optimizer_named(name)),
        backend_(make_cpu_backend({1, 1, ""})),
        store_(*backend_),
        training_(*backend_, store_, step_of(optimizer_)),
        evaluation_(*backend_, store_, evaluation_of(training_.compiled().space)),
        scalars_(std::move(rate), optimizer_, hyper) {
    store_.initialise(1);
    for (NamedTensor& tensor : store_.canonical(false)) {
      for (int64_t i = 0; i < kSize; ++i)
        store_element(DType::f64, tensor.data.data(), i, kStart[static_cast<size_t>(i)]);
      store_.load({tensor});
    }
  }

  // Returns the loss of the step, which is the loss at the point where its gradient is taken.
  double step(int64_t number) {
    for (const NamedScalar& scalar : scalars_.at(number)) training_.set_scalar(scalar.name, scalar.value);
    training_.step();
    return training_.read_scalar("loss");
  }

  double evaluate() {
    evaluation_.step();
    return evaluation_.read_scalar("loss");
  }

  test::Vector parameters() const {
    const NamedTensor w = store_.canonical(false).at(0);
    test::Vector values;
    for (int64_t i = 0; i < kSize; ++i) values.push_back(load_element(DType::f64, w.data.data(), i));
    return values;
  }

 private:
  CompileOptions options() const {
    CompileOptions result;
    result.target = backend_->target();
    result.precision = Precision::f64;
    return result;
  }
  Compiled step_of(const Optimizer& optimizer) const {
    CompileOptions with_rule = options();
    with_rule.groups = {{.rule = update_rule(optimizer)}};
    return compile(quadratic("training"), with_rule);
  }
  Compiled evaluation_of(const ParameterSpace& space) const {
    CompileOptions of_space = options();
    of_space.space = &space;
    return compile(quadratic("evaluation"), of_space);
  }

  const Optimizer& optimizer_;
  std::unique_ptr<Backend> backend_;
  StateStore store_;
  Session training_, evaluation_;
  StepScalars scalars_;
};

// The three points x, y and z of Defazio et al. 2024, algorithm 1, all kept.
struct Points {
  test::Vector x = kStart, y = kStart, z = kStart, square = test::Vector(kSize);
  double squares = 0;

  // Takes a step at the rate `eta`, with a weight decay; beta2 is 1 for SGD.
  void step(double eta, double beta, double decay, double beta2, int64_t t) {
    squares += eta * eta;
    const double share = squares > 0 ? eta * eta / squares : 1;
    for (size_t i = 0; i < x.size(); ++i) {
      double direction = slope(i, y[i]);
      square[i] = beta2 * square[i] + (1 - beta2) * direction * direction;
      if (beta2 < 1) direction /= std::sqrt(square[i] / (1 - std::pow(beta2, static_cast<double>(t + 1)))) + 1e-8;
      z[i] -= eta * (direction + decay * y[i]);
      x[i] += share * (z[i] - x[i]);
      y[i] = (1 - beta) * z[i] + beta * x[i];
    }
  }
};

void check_near(const test::Vector& got, const test::Vector& expected) {
  for (size_t i = 0; i < got.size(); ++i) BOOST_TEST(std::abs(got[i] - expected[i]) < 1e-12);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(schedule_free)

// A step has the loss at y, and an evaluation the loss at x. The warmup begins at a rate of 0.
BOOST_AUTO_TEST_CASE(steps_are_those_of_algorithm_1) {
  constexpr int64_t kSteps = 60;
  for (const bool is_adam : {false, true})
    for (const double beta : {0.0, 0.9}) {
      const double rate = is_adam ? 0.05 : 0.3;
      const LearningRate along = warm(rate, kSteps);
      Training run(is_adam ? "schedule-free-adamw" : "schedule-free", along, {{"beta", beta}, {"weight_decay", 0.01}});
      Points points;
      for (int64_t t = 0; t < kSteps; ++t) {
        const double loss = run.step(t), expected = loss_at(points.y);
        BOOST_TEST(std::abs(loss - expected) < 1e-12 * std::max(expected, 1.0));
        points.step(along.at(t), beta, 0.01, is_adam ? 0.999 : 1, t);
        check_near(run.parameters(), points.x);
        BOOST_TEST(std::abs(run.evaluate() - loss_at(points.x)) < 1e-12 * std::max(loss_at(points.x), 1.0));
      }
    }
}

// At beta 0 and a constant rate z is plain gradient descent, z_k - m = r^k (z_0 - m) with r = 1 - eta h, and x is the
// mean of its points: x_k - m = r (1 - r^k) / (1 - r) / k (z_0 - m).
BOOST_AUTO_TEST_CASE(without_beta_the_parameters_are_the_mean_of_gradient_descent) {
  constexpr int64_t kSteps = 50;
  constexpr double kRate = 0.2;
  Training run("schedule-free", LearningRate({.learning_rate = kRate, .total_steps = kSteps}), {{"beta", 0}});
  for (int64_t t = 0; t < kSteps; ++t) run.step(t);
  test::Vector expected;
  for (size_t i = 0; i < kStart.size(); ++i) {
    const double r = 1 - kRate * kCurvature[i];
    expected.push_back(kMinimum[i] + r * (1 - std::pow(r, kSteps)) / (1 - r) / kSteps * (kStart[i] - kMinimum[i]));
  }
  check_near(run.parameters(), expected);
}

// The shares depend on the step alone, because a run that goes on from a checkpoint asks for a later step first.
BOOST_AUTO_TEST_CASE(shares_of_the_mean_do_not_depend_on_which_steps_were_asked_for) {
  const Optimizer& optimizer = test::optimizer_named("schedule-free");
  const auto share = [](StepScalars& scalars, int64_t step) {
    double found = 0;
    for (const NamedScalar& scalar : scalars.at(step))
      if (scalar.name == "mean_share") found = scalar.value;
    return found;
  };
  StepScalars in_turn(warm(0.3, 20), optimizer, {});
  double squares = 0;
  for (int64_t step = 0; step < 20; ++step) {
    const double rate = warm(0.3, 20).at(step);
    squares += rate * rate;
    const double expected = step == 0 ? 1 : rate * rate / squares;
    BOOST_TEST(std::abs(share(in_turn, step) - expected) < 1e-15);
    StepScalars at_once(warm(0.3, 20), optimizer, {});
    BOOST_TEST(share(at_once, step) == share(in_turn, step));
  }
  BOOST_TEST(share(in_turn, 7) == share(in_turn, 7));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::schedule_free_test
