// Tests equalities of the literature: which training runs are equal although their numbers differ, and which only seem
// so. Equalities that are exact are tested to the last bit.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "graph/functions.h"
#include "graph/layers.h"
#include "optim/update_rules.h"
#include "tests/optim/rule_run.h"

namespace kb::facts_test {
namespace {

using test::Layer;
using test::optimizer_named;
using test::RuleRun;
using test::Vector;

// A weight and a bias. Their gradients are those of the loss w^2 / 2 + sin 3w, summed over the elements.
const std::vector<Layer> kLayers = {{"w", {1, -0.5, 2}}, {"b", {0.25, 0.1}, Role::bias}};

std::vector<Vector> gradients_at(const RuleRun& run, double scale = 1) {
  std::vector<Vector> gradients;
  for (const Layer& layer : kLayers) {
    Vector g = run[layer.name];
    for (double& x : g) x = scale * (x + 3 * std::cos(3 * x));
    gradients.push_back(std::move(g));
  }
  return gradients;
}

bool same(const RuleRun& a, const RuleRun& b, const char* layer) { return a[layer] == b[layer]; }

// Returns the greatest distance between the parameters of two runs.
double apart(const RuleRun& a, const RuleRun& b) {
  double most = 0;
  for (const Layer& layer : kLayers) {
    const Vector x = a[layer.name], y = b[layer.name];
    for (size_t i = 0; i < x.size(); ++i) most = std::max(most, std::abs(x[i] - y[i]));
  }
  return most;
}

// The rates have a warmup from 1/32, a drop to a tenth, and jumps that no usual schedule has.
const double kChangingRates[] = {0.003125, 0.0125, 0.05, 0.1, 0.1, 0.01, 0.01, 0.09, 0.002, 0.1, 0.05, 0.1};
const double kConstantRates[] = {0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05};

// Returns how far two optimizers are apart after steps with these rates.
double apart_after(const std::string& one, const std::string& other, std::span<const double> rates,
                   std::vector<NamedScalar> hyper_of_other = {}) {
  const std::vector<NamedScalar> hyper = {{"momentum", 0.9}, {"weight_decay", 0.01}};
  hyper_of_other.insert(hyper_of_other.end(), hyper.begin(), hyper.end());
  RuleRun a(one, hyper, kLayers), b(other, hyper_of_other, kLayers);
  for (const double rate : rates) {
    a.step(rate, gradients_at(a));
    b.step(rate, gradients_at(b));
  }
  return apart(a, b);
}

constexpr double kFactor = 1024;

// Two runs of one optimizer; the second has a loss kFactor times as large, and a rate and a decay of its own.
struct ScaledLoss {
  RuleRun plain, scaled;
  double rate, rate_of_scaled;

  ScaledLoss(const std::string& optimizer, std::vector<NamedScalar> hyper, double decay, double decay_of_scaled,
             double plain_rate, double scaled_rate)
      : plain(optimizer, with(hyper, decay), kLayers),
        scaled(optimizer, with(hyper, decay_of_scaled), kLayers),
        rate(plain_rate),
        rate_of_scaled(scaled_rate) {
    for (int step = 0; step < 6; ++step) {
      // The rate changes after three steps.
      const double share = step < 3 ? 1 : 0.1;
      plain.step(share * rate, gradients_at(plain));
      scaled.step(share * rate_of_scaled, gradients_at(scaled, kFactor));
    }
  }

  static std::vector<NamedScalar> with(std::vector<NamedScalar> hyper, double decay) {
    hyper.push_back({"weight_decay", decay});
    return hyper;
  }
};

Tensor averaging_momentum(UpdateContext& c) {
  Tensor mean = c.scalar("momentum") * c.slot("mean") + (1.0 - c.scalar("momentum")) * decayed_gradient(c);
  c.set_slot("mean", mean);
  return c.parameter - c.scalar("learning_rate") * mean;
}

// Each of kWorkers workers has gradients of its own; a step takes their mean.
constexpr int64_t kWorkers = 4;
std::vector<Vector> gradients_of_worker(const RuleRun& run, int64_t worker) {
  std::vector<Vector> gradients = gradients_at(run);
  for (size_t layer = 0; layer < gradients.size(); ++layer)
    for (size_t i = 0; i < gradients[layer].size(); ++i)
      gradients[layer][i] *=
          1 + 2 * std::sin(static_cast<double>(7 * worker) + 3.0 * static_cast<double>(i + 5 * layer));
  return gradients;
}

Vector mean_of(const std::vector<Vector>& parts) {
  Vector mean(parts[0].size());
  for (const Vector& part : parts)
    for (size_t i = 0; i < mean.size(); ++i) mean[i] += part[i] / static_cast<double>(parts.size());
  return mean;
}

// Each worker takes the step of its own gradient, with its own velocity, and all go on from their mean.
void average_parameters(std::vector<std::unique_ptr<RuleRun>>& workers, double rate) {
  for (int64_t k = 0; k < kWorkers; ++k) {
    RuleRun& worker = *workers[static_cast<size_t>(k)];
    worker.step(rate, gradients_of_worker(worker, k));
  }
  for (const Layer& layer : kLayers) {
    std::vector<Vector> parts;
    for (const auto& worker : workers) parts.push_back((*worker)[layer.name]);
    for (const auto& worker : workers) worker->set(layer.name, mean_of(parts));
  }
}

void average_gradients(RuleRun& run, double rate) {
  std::vector<Vector> means;
  for (size_t layer = 0; layer < kLayers.size(); ++layer) {
    std::vector<Vector> parts;
    for (int64_t k = 0; k < kWorkers; ++k) parts.push_back(gradients_of_worker(run, k)[layer]);
    means.push_back(mean_of(parts));
  }
  run.step(rate, means);
}

// Returns how far averaging parameters leads from averaging gradients.
double apart_by_averaging(const std::string& optimizer, const std::vector<NamedScalar>& hyper) {
  std::vector<std::unique_ptr<RuleRun>> workers;
  for (int64_t k = 0; k < kWorkers; ++k) workers.push_back(std::make_unique<RuleRun>(optimizer, hyper, kLayers));
  RuleRun together(optimizer, hyper, kLayers);
  for (const double rate : {0.05, 0.1, 0.1, 0.02, 0.05}) {
    average_parameters(workers, rate);
    average_gradients(together, rate);
  }
  return apart(*workers[0], together);
}

// A layer of 3 outputs over 4 inputs, with a loss over kSamples samples, which one or several workers share.
constexpr int64_t kSamples = 8, kInputs = 4, kOutputs = 3;

Graph weighted_loss(int64_t samples) {
  Graph g("final");
  Tensor x = input(g, "x", DType::f32, {samples, kInputs}, "NC"), weights = input(g, "weights", DType::f32, {samples});
  Tensor loss = sum(linear("fc", x, kOutputs), {1});
  g.outputs.push_back({"loss", sum(loss * weights).value(), Merge::sum});
  return g;
}

// Returns the hash of the state after three steps of kSamples samples, which `workers` virtual workers take in turn.
// Every sample's loss is multiplied by `weight`.
std::string state_after(const Optimizer& optimizer, int64_t workers, double weight) {
  const auto backend = make_cpu_backend({1, 1, ""});
  const int64_t samples = kSamples / workers;
  CompileOptions options;
  options.target = backend->target();
  options.workers = {1, workers};
  options.groups = {{.rule = update_rule(optimizer)}};
  StateStore store(*backend);
  Session session(*backend, store, compile(weighted_loss(samples), options));
  store.initialise(1);
  StepScalars scalars(LearningRate({.learning_rate = 0.25}), optimizer, {});
  for (int64_t step = 0; step < 3; ++step) {
    for (const NamedScalar& scalar : scalars.at(step)) session.set_scalar(scalar.name, scalar.value);
    for (int64_t worker = 0; worker < workers; ++worker) {
      for (int64_t i = 0; i < samples * kInputs; ++i)  // small whole numbers, so that no sum of them is rounded
        store_element(DType::f32, session.input("x"), i,
                      static_cast<double>((worker * samples * kInputs + i) * (step + 3) % 7 - 3));
      for (int64_t i = 0; i < samples; ++i) store_element(DType::f32, session.input("weights"), i, weight);
      session.work(worker);
    }
  }
  return store.state_sha256();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(facts)

// Goyal et al. 2017, remark 2: with momentum correction, eq. 10 equals eq. 9 whatever the rate does; without it only at
// a constant rate.
BOOST_AUTO_TEST_CASE(corrected_and_free_velocities_are_one_run_under_any_schedule) {
  BOOST_TEST(apart_after("momentum", "scaled-momentum", kChangingRates) < 1e-13);
  BOOST_TEST(apart_after("momentum", "uncorrected-momentum", kChangingRates) > 1e-2);
  BOOST_TEST(apart_after("momentum", "uncorrected-momentum", kConstantRates) < 1e-13);
}

// lars-mlperf has the rate inside the velocity, and no momentum correction. If no layer is adapted, it is a Nesterov
// step.
BOOST_AUTO_TEST_CASE(nesterov_with_the_rate_inside_needs_the_correction_too) {
  const auto nesterov_apart = [](std::span<const double> rates) {
    CompileOptions options = RuleRun::f64_options();
    options.groups[0].no_adapt = {Role::weight, Role::bias};
    RuleRun inside("lars-mlperf", {{"momentum", 0.9}, {"weight_decay", 0.01}, {"nesterov", 1}}, kLayers, options);
    RuleRun outside("nesterov", {{"momentum", 0.9}, {"weight_decay", 0.01}}, kLayers);
    for (const double rate : rates) {
      inside.step(rate, gradients_at(inside));
      outside.step(rate, gradients_at(outside));
    }
    return apart(inside, outside);
  };
  BOOST_TEST(nesterov_apart(kConstantRates) < 1e-13);
  BOOST_TEST(nesterov_apart(kChangingRates) > 1e-2);
}

// Goyal et al. 2017, remark 1: the weight decay is no part of the loss, so a loss c times as large equals a rate c
// times as large only if the decay is divided by c.
BOOST_AUTO_TEST_CASE(a_larger_loss_is_a_larger_rate_with_less_decay) {
  for (const std::string optimizer : {"sgd", "momentum", "nesterov", "scaled-momentum", "uncorrected-momentum"}) {
    std::vector<NamedScalar> hyper;
    if (optimizer != "sgd") hyper = {{"momentum", 0.9}};
    const double rate = 0.1, decay = 0.05;
    const ScaledLoss right(optimizer, hyper, decay / kFactor, decay, rate * kFactor, rate);
    BOOST_TEST(same(right.plain, right.scaled, "w"), optimizer);
    BOOST_TEST(same(right.plain, right.scaled, "b"), optimizer);
    const ScaledLoss wrong(optimizer, hyper, decay, decay, rate * kFactor, rate);
    BOOST_TEST(!same(wrong.plain, wrong.scaled, "w"), optimizer);
    BOOST_TEST(same(wrong.plain, wrong.scaled, "b"), optimizer);  // biases have no decay
  }
}

// You et al. 2017, eq. 6: without weight decay the size of the gradient has no effect on the step. With decay it has
// none if the decay grows by the same factor.
BOOST_AUTO_TEST_CASE(lars_does_not_see_the_size_of_the_loss) {
  for (const std::string optimizer : {"lars", "lars-mlperf", "lars-unscaled", "lars-plain"}) {
    const std::vector<NamedScalar> hyper = {{"momentum", 0.9}};
    const double rate = optimizer == "lars-plain" ? 0.01 : 2, decay = 0.05;
    const ScaledLoss without(optimizer, hyper, 0, 0, rate, rate);
    BOOST_TEST(same(without.plain, without.scaled, "w"), optimizer);
    BOOST_TEST(!same(without.plain, without.scaled, "b"), optimizer);  // biases are not adapted
    const ScaledLoss scaled(optimizer, hyper, decay, decay * kFactor, rate, rate);
    BOOST_TEST(same(scaled.plain, scaled.scaled, "w"), optimizer);
    const ScaledLoss kept(optimizer, hyper, decay, decay, rate, rate);
    BOOST_TEST(!same(kept.plain, kept.scaled, "w"), optimizer);
  }
}

// A step that is linear in the gradient may be taken before or after the mean over workers. A trust ratio is not
// linear.
BOOST_AUTO_TEST_CASE(parameters_may_be_averaged_in_place_of_gradients_by_linear_rules_alone) {
  const std::vector<NamedScalar> hyper = {{"momentum", 0.9}, {"weight_decay", 0.01}};
  for (const std::string optimizer : {"momentum", "scaled-momentum", "uncorrected-momentum", "nesterov"})
    BOOST_TEST(apart_by_averaging(optimizer, hyper) < 4e-15, optimizer);
  BOOST_TEST(apart_by_averaging("sgd", {{"weight_decay", 0.01}}) < 4e-15);
  for (const std::string optimizer : {"lars", "lars-unscaled"})
    BOOST_TEST(apart_by_averaging(optimizer, {{"momentum", 0.9}, {"weight_decay", 0.01}, {"trust", 1}}) > 1e-5,
               optimizer);
  BOOST_TEST(apart_by_averaging("adam", {}) > 1e-5);
}

// Goyal et al. 2017, remark 3: each of k workers with n samples divides its loss by k n, not by n.
BOOST_AUTO_TEST_CASE(accumulated_gradients_are_those_of_the_larger_minibatch_where_the_loss_is_over_all_samples) {
  for (const std::string name : {"momentum", "lars", "rmsprop-warmup"}) {
    const Optimizer& optimizer = optimizer_named(name);
    const std::string whole = state_after(optimizer, 1, 1.0 / kSamples);
    BOOST_TEST(state_after(optimizer, 4, 1.0 / kSamples) == whole, name);
    BOOST_TEST(state_after(optimizer, 4, 4.0 / kSamples) != whole, name);
  }
}

// u <- m u + (1 - m) g is a mean of gradients, and needs the rate eta / (1 - m) where the sum u <- m u + g has the rate
// eta. With m = 3/4 this is 4 eta, which is exact.
BOOST_AUTO_TEST_CASE(a_mean_of_gradients_needs_a_rate_over_one_minus_momentum) {
  Optimizer mean{"mean", "for tests", averaging_momentum};
  mean.hyper[0] = {"momentum", 0.75, "for tests"};
  mean.hyper[1] = {"weight_decay", 0.01, "for tests"};
  const std::vector<NamedScalar> hyper = {{"momentum", 0.75}, {"weight_decay", 0.01}};
  RuleRun sum("momentum", hyper, kLayers), right(mean, hyper, kLayers), wrong(mean, hyper, kLayers);
  for (const double rate : kChangingRates) {
    sum.step(rate, gradients_at(sum));
    right.step(rate / (1 - 0.75), gradients_at(right));
    wrong.step(rate, gradients_at(wrong));
  }
  BOOST_TEST(same(sum, right, "w"));
  BOOST_TEST(same(sum, right, "b"));
  BOOST_TEST(!same(sum, wrong, "w"));
}

// Keras' l2(x) adds x |w|^2 to the loss, of which the gradient is 2 x w. Goyal et al. 2017, remark 1: the decay lambda
// stands for lambda / 2 |w|^2.
BOOST_AUTO_TEST_CASE(a_term_x_w_squared_of_the_loss_is_a_decay_of_2x) {
  constexpr double kX = 0.03;
  for (const std::string optimizer : {"momentum", "nesterov", "adam"}) {
    RuleRun term(optimizer, {{"weight_decay", 0}}, kLayers), twice(optimizer, {{"weight_decay", 2 * kX}}, kLayers),
        once(optimizer, {{"weight_decay", kX}}, kLayers);
    for (const double rate : kChangingRates) {
      std::vector<Vector> gradients = gradients_at(term);
      for (size_t i = 0; i < gradients[0].size(); ++i) gradients[0][i] += 2 * kX * term["w"][i];
      term.step(rate, gradients);
      twice.step(rate, gradients_at(twice));
      once.step(rate, gradients_at(once));
    }
    BOOST_TEST(apart(term, twice) < 1e-14, optimizer);
    BOOST_TEST(apart(term, once) > 1e-3, optimizer);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::facts_test
