// Tests update rules as a session runs them: compiled, in every precision, over a parameter space with padding and
// roles.
#include "runtime/session.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>

#include "graph/layers.h"
#include "optim/optimizer.h"
#include "tests/optim/plain_update.h"

namespace kb::session_test {
namespace {

using test::Plain;

constexpr int64_t kSamples = 4, kInputs = 5, kOutputs = 3, kSteps = 30;

// The loss is the sum of c (W x + b) over samples and outputs. Its gradients, sums of c x^T and of c, do not depend on
// W or b.
Graph linear_in_its_parameters() {
  Graph g("final");
  Tensor x = input(g, "x", DType::f32, {kSamples, kInputs}, "NC"), c = input(g, "c", DType::f32, {kSamples, kOutputs});
  g.outputs.push_back({"loss", sum(linear("fc", x, kOutputs) * c).value(), Merge::sum});
  return g;
}

// Returns small integers, whose products and sums are exact in bf16 too.
double whole(int64_t i) { return static_cast<double>((i * 7919 + i * i * 31) % 9 - 4); }

void fill(Session& session, const char* name, int64_t count, int64_t salt, std::vector<double>& values) {
  values.clear();
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(whole(i + salt));
    store_element(session.input_type(name).dtype, session.input(name), i, values.back());
  }
}

// Returns the gradient of the weight (outputs, inputs), then that of the bias.
std::vector<double> gradient(const std::vector<double>& x, const std::vector<double>& c) {
  auto at = [](const std::vector<double>& v, int64_t i) { return v[static_cast<size_t>(i)]; };
  std::vector<double> result(static_cast<size_t>(kOutputs * (kInputs + 1)));
  for (int64_t n = 0; n < kSamples; ++n)
    for (int64_t o = 0; o < kOutputs; ++o) {
      for (int64_t i = 0; i < kInputs; ++i)
        result[static_cast<size_t>(o * kInputs + i)] += at(c, n * kOutputs + o) * at(x, n * kInputs + i);
      result[static_cast<size_t>(kOutputs * kInputs + o)] += at(c, n * kOutputs + o);
    }
  return result;
}

std::vector<double> parameters(const StateStore& store) {
  std::vector<double> bias, weight;
  for (const NamedTensor& tensor : store.canonical(false))
    for (int64_t i = 0; i < tensor.type.elements(); ++i)
      (tensor.name == "fc.bias" ? bias : weight).push_back(load_element(tensor.type.dtype, tensor.data.data(), i));
  weight.insert(weight.end(), bias.begin(), bias.end());
  return weight;
}

// Returns the largest difference between a session's parameters and the formulas' after kSteps steps.
double difference_after_steps(const Optimizer& optimizer, Precision precision) {
  std::unique_ptr<Backend> backend = make_cpu_backend({1, 1, ""});
  CompileOptions options;
  options.target = backend->target();
  options.precision = precision;
  options.groups = {{.rule = update_rule(optimizer)}};
  StateStore store(*backend);
  Session session(*backend, store, compile(linear_in_its_parameters(), options));
  store.initialise(1);
  std::vector<Plain> plain;
  for (double w : parameters(store)) plain.push_back({w, 0, 0});

  const LearningRate rate({.shape = "cosine",
                           .learning_rate = 2e-3,
                           .warmup_epochs = 1,
                           .warmup_start = 1e-4,
                           .steps_per_epoch = 8,
                           .total_steps = kSteps});
  std::vector<NamedScalar> given{{"weight_decay", 0.05}};
  if (optimizer.reads("skip_lr")) given.push_back({"skip_lr", 1e-3});
  const std::vector<NamedScalar> all = hyper_values(optimizer, given);
  StepScalars scalars(rate, optimizer, given);
  std::vector<double> x, c;
  double squares = 0;
  for (int64_t t = 0; t < kSteps; ++t) {
    squares += rate.at(t) * rate.at(t);
    fill(session, "x", kSamples * kInputs, 100 * t, x);
    fill(session, "c", kSamples * kOutputs, 100 * t + 50, c);
    for (const NamedScalar& scalar : scalars.at(t)) session.set_scalar(scalar.name, scalar.value);
    session.step();
    const std::vector<double> g = gradient(x, c);
    constexpr size_t kWeights = kOutputs * kInputs;
    for (const bool is_weight : {true, false}) {  // both are layers; the bias has neither decay nor adaptation
      const size_t first = is_weight ? 0 : kWeights, count = is_weight ? kWeights : kOutputs;
      test::plain_update(std::string(optimizer.name), std::span(plain).subspan(first, count),
                         std::span(g).subspan(first, count), std::vector<double>(count, is_weight ? 1.0 : 0.0),
                         {rate.at(t), rate.at(std::max<int64_t>(t - 1, 0)), static_cast<double>(t + 1), all, is_weight,
                          rate.spec().learning_rate, static_cast<double>(t) / 8, squares});
    }
  }
  double most = 0;
  const std::vector<double> got = parameters(store);
  for (size_t i = 0; i < got.size(); ++i) most = std::max(most, std::abs(got[i] - plain[i].w));
  return most;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(optimizer_session)

BOOST_AUTO_TEST_CASE(f64_equals_the_formulas) {
  for (const Optimizer& optimizer : optimizers())
    if (!optimizer.takes_matrices)
      BOOST_TEST(difference_after_steps(optimizer, Precision::f64) < 1e-12, optimizer.name);
}

// If parameters were kept in bf16, whose significand has 8 bits, an update of 1e-3 to a weight of 0.4 would be lost.
BOOST_AUTO_TEST_CASE(f32_and_bf16_keep_master_parameters_in_f32) {
  for (const Optimizer& optimizer : optimizers())
    for (Precision precision : {Precision::f32, Precision::bf16})
      if (!optimizer.takes_matrices) BOOST_TEST(difference_after_steps(optimizer, precision) < 2e-6, optimizer.name);
}

// The first loss scale is 65536, which makes gradients such as 4 exceed the greatest number of f16. Such a step changes
// no parameter and halves the scale; every other step is the formula's. After three good steps in a row the scale
// doubles, and gradients overflow again.
BOOST_AUTO_TEST_CASE(f16_skips_steps_whose_gradients_overflow_and_finds_a_loss_scale) {
  const auto is_momentum = [](const Optimizer& row) { return row.name == "momentum"; };
  const Optimizer& optimizer = *std::ranges::find_if(optimizers(), is_momentum);
  std::unique_ptr<Backend> backend = make_cpu_backend({1, 1, ""});
  CompileOptions options;
  options.target = backend->target();
  options.precision = Precision::f16;
  options.groups = {{.rule = update_rule(optimizer)}};
  StateStore store(*backend);
  Session session(*backend, store, compile(linear_in_its_parameters(), options));
  store.initialise(1);
  session.set_scalar("loss_scale_interval", 3);
  session.set_scalar("learning_rate", 1e-3);
  session.set_scalar("momentum", 0.9);
  std::vector<Plain> plain;
  for (double w : parameters(store)) plain.push_back({w, 0, 0});

  std::vector<double> x, c;
  double scale = 65536;
  int skipped = 0, doubled = 0, good = 0;
  for (int64_t t = 0; t < kSteps; ++t) {
    fill(session, "x", kSamples * kInputs, 100 * t, x);
    fill(session, "c", kSamples * kOutputs, 100 * t + 50, c);
    const std::vector<double> before = parameters(store);
    session.step();
    const double next = session.read_scalar("loss_scale");
    const double greatest =
        std::abs(*std::max_element(c.begin(), c.end(), [](double a, double b) { return std::abs(a) < std::abs(b); }));
    const bool fits = greatest * scale <= 65504;
    BOOST_TEST_CONTEXT("step " << t << ", scale " << scale) {
      good = fits ? good + 1 : 0;
      BOOST_TEST(next == (!fits ? scale / 2 : good == 3 ? scale * 2 : scale));
      if (!fits) BOOST_TEST(parameters(store) == before);
    }
    if (good == 3) good = 0, ++doubled;
    skipped += !fits;
    scale = next;
    const std::vector<double> g = gradient(x, c);
    const std::vector<NamedScalar> hyper = {{"momentum", 0.9}, {"weight_decay", 0}};
    if (fits) test::plain_update("momentum", plain, g, std::vector<double>(g.size()), {1e-3, 1e-3, 1.0, hyper});
  }
  BOOST_TEST(skipped > 2);
  BOOST_TEST(doubled > 2);
  const std::vector<double> got = parameters(store);
  for (size_t i = 0; i < got.size(); ++i) BOOST_TEST(std::abs(got[i] - plain[i].w) < 2e-6);
  for (const NamedTensor& tensor : store.canonical(false)) BOOST_TEST(!tensor.name.starts_with("loss_scale"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::session_test
