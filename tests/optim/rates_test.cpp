// Tests parameters whose learning rates differ by a factor of their own.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "graph/functions.h"
#include "tests/optim/plain_update.h"
#include "tests/optim/rule_run.h"
#include "tests/support/says.h"

namespace kb::rates_test {
namespace {

using test::Layer, test::Plain, test::RuleRun, test::Vector;

constexpr double kRate = 0.25;  // a power of two, by which products are exact
constexpr int64_t kSteps = 12;

// Each second one of these layers has a rate of its own; the biases have neither decay nor adaptation.
std::vector<Layer> layers_of(double rate) {
  const Vector weights = {0.5, -1, 0.25, 2, -0.75}, biases = {0.1, -0.3};
  return {{"w1", weights},
          {"w2", weights, Role::weight, rate},
          {"b1", biases, Role::bias},
          {"b2", biases, Role::bias, rate}};
}

double rate_at(int64_t step) { return 0.02 * static_cast<double>(step % 5 + 1); }

std::vector<Vector> gradients_at(int64_t step, const std::vector<Layer>& layers) {
  std::vector<Vector> gradients;
  for (const Layer& layer : layers) {
    Vector& gradient = gradients.emplace_back();
    for (size_t i = 0; i < layer.values.size(); ++i)
      gradient.push_back(std::sin(static_cast<double>(step * 7) + 3.1 * static_cast<double>(i)));
  }
  return gradients;
}

std::vector<NamedScalar> hyper_of(const Optimizer& optimizer) {
  std::vector<NamedScalar> hyper;
  for (const NamedScalar& scalar : {NamedScalar{"weight_decay", 0.05}, {"skip_lr", 0.01}, {"epsilon", 1e-4}})
    if (optimizer.reads(scalar.name)) hyper.push_back(scalar);
  return hyper;
}

bool is_decoupled(const std::string& optimizer) {
  return optimizer == "lion" || optimizer.find("adamw") != std::string::npos;
}

// Returns the hyper-parameters that a layer of this rate has where it learns alone, at the learning rate times its own:
// rates that the optimizer has beside the learning rate are multiplied as that is, and decoupled decay is kept.
std::vector<NamedScalar> hyper_alone(const Optimizer& optimizer, double rate) {
  std::vector<NamedScalar> hyper = hyper_values(optimizer, hyper_of(optimizer));
  for (NamedScalar& scalar : hyper) {
    if (scalar.name == "skip_lr" || scalar.name == "rms_lr") scalar.value *= rate;
    if (scalar.name == "weight_decay" && is_decoupled(std::string(optimizer.name))) scalar.value /= rate;
  }
  return hyper;
}

// Returns a layer's values after all steps by the formulas of the optimizer.
Vector plain_layer(const Optimizer& optimizer, const std::vector<Layer>& layers, size_t number) {
  const Layer& layer = layers[number];
  const std::vector<NamedScalar> hyper = hyper_alone(optimizer, layer.rate);
  const bool is_weight = layer.role == Role::weight;
  const Vector decay(layer.values.size(), is_weight ? 1.0 : 0.0);
  std::vector<Plain> plain;
  for (const double value : layer.values) plain.push_back({value});
  for (int64_t step = 0; step < kSteps; ++step) {
    const double eta = layer.rate * rate_at(step), before = layer.rate * rate_at(step > 0 ? step - 1 : 0);
    const auto updates = static_cast<double>(step + 1);
    test::plain_update(std::string(optimizer.name), plain, gradients_at(step, layers)[number], decay,
                       {eta, before, updates, hyper, is_weight, eta, static_cast<double>(step), eta * eta * updates});
  }
  Vector values;
  for (const Plain& p : plain) values.push_back(p.w);
  return values;
}

void train(RuleRun& run, const std::vector<Layer>& layers, double share = 1) {
  for (int64_t step = 0; step < kSteps; ++step) run.step(share * rate_at(step), gradients_at(step, layers));
}

CompileOptions f32_options() {
  CompileOptions options = RuleRun::f64_options();
  options.precision = Precision::f32;
  return options;
}

bool takes_rates(const Optimizer& optimizer) { return optimizer.name != "larc" && !optimizer.takes_matrices; }

}  // namespace

BOOST_AUTO_TEST_SUITE(rates)

BOOST_AUTO_TEST_CASE(a_layer_learns_as_under_the_learning_rate_times_its_own) {
  const std::vector<Layer> layers = layers_of(kRate);
  for (const Optimizer& optimizer : optimizers()) {
    if (!takes_rates(optimizer)) continue;
    RuleRun run(optimizer, hyper_of(optimizer), layers);
    train(run, layers);
    for (size_t number = 0; number < layers.size(); ++number) {
      const Vector expected = plain_layer(optimizer, layers, number), got = run[layers[number].name];
      for (size_t i = 0; i < got.size(); ++i)
        BOOST_TEST(std::abs(got[i] - expected[i]) < 1e-12,
                   optimizer.name << ' ' << layers[number].name << ' ' << got[i] << ", not " << expected[i]);
    }
  }
}

// The other layers have the learning rate times 1, and all kinds of decay by it.
BOOST_AUTO_TEST_CASE(layers_beside_one_with_a_rate_keep_every_bit) {
  const std::vector<Layer> layers = layers_of(kRate), alike = layers_of(1);
  for (const Optimizer& optimizer : optimizers()) {
    if (!takes_rates(optimizer)) continue;
    RuleRun run(optimizer, hyper_of(optimizer), layers, f32_options());
    RuleRun plain(optimizer, hyper_of(optimizer), alike, f32_options());
    train(run, layers);
    train(plain, alike);
    for (const char* layer : {"w1", "b1"}) BOOST_TEST((run[layer] == plain[layer]), optimizer.name << ' ' << layer);
    for (const char* layer : {"w2", "b2"}) BOOST_TEST((run[layer] != plain[layer]), optimizer.name << ' ' << layer);
  }
}

BOOST_AUTO_TEST_CASE(a_rate_of_a_quarter_is_a_quarter_of_the_learning_rate_to_the_bit) {
  const std::vector<Layer> layers = layers_of(kRate), alike = layers_of(1);
  for (const char* name : {"sgd", "momentum", "adam", "adamw"}) {
    RuleRun run(name, {{"weight_decay", 0}}, layers, f32_options());
    RuleRun quarter(name, {{"weight_decay", 0}}, alike, f32_options());
    train(run, layers);
    train(quarter, alike, kRate);
    for (const char* layer : {"w2", "b2"}) BOOST_TEST((run[layer] == quarter[layer]), name << ' ' << layer);
  }
}

// The rule of larc divides one value a layer by the learning rate.
BOOST_AUTO_TEST_CASE(a_rule_that_needs_one_learning_rate_is_refused) {
  BOOST_CHECK_EXCEPTION(RuleRun("larc", {}, layers_of(kRate)), Error,
                        test::says("the update rule cannot take the parameters' rates", "at layer_wise_rules.cpp:"));
  BOOST_CHECK_NO_THROW(RuleRun("larc", {}, layers_of(1)));
}

BOOST_AUTO_TEST_CASE(a_rate_is_a_finite_number_above_0) {
  for (const double rate : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    Graph graph;
    BOOST_CHECK_EXCEPTION(parameter(graph, "w", Role::weight, {DType::f32, {3}, ""}, {}, rate), Error,
                          test::says("parameter: the rate of 'w' is out of range", "a finite number > 0"));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::rates_test
