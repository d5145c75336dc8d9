// Tests rules that clip by the norm of the whole gradient or average parameters around another rule, run by a session.
#include "optim/wrapped_rules.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>

#include "graph/layers.h"
#include "optim/optimizer.h"
#include "optim/update_rules.h"
#include "runtime/session.h"

namespace kb::wrapped_rules_test {
namespace {

constexpr int64_t kInputs = 40, kOutputs = 30, kSamples = 2;
using Tensors = std::map<std::string, std::vector<double>>;

// The loss is the sum of c (W x + b). Its gradients, sums of c x^T and of c, do not depend on the parameters.
Graph linear_model() {
  Graph g("linear_model");
  Tensor x = input(g, "x", DType::f64, {kSamples, kInputs}, "NC"), c = input(g, "c", DType::f64, {kSamples, kOutputs});
  g.outputs.push_back({"loss", sum(linear("fc", x, kOutputs) * c).value(), Merge::sum});
  return g;
}

double value_at(int64_t i, int64_t step) { return std::sin(0.7 * static_cast<double>(i) + static_cast<double>(step)); }

class Trained {
 public:
  explicit Trained(const UpdateRule& rule, bool log_layers = false, int64_t workers = 1)
      : Trained(std::vector<ParameterGroup>{{.rule = rule}}, log_layers, workers) {}
  explicit Trained(std::vector<ParameterGroup> groups, bool log_layers = false, int64_t workers = 1)
      : backend_(make_cpu_backend({1, 1, ""})),
        store_(*backend_),
        workers_(workers),
        session_(*backend_, store_, compiled(std::move(groups), log_layers)) {
    store_.initialise(1);
    session_.set_scalar("learning_rate", 0.01);
    session_.set_scalar("momentum", 0.9);
  }

  // Takes step `number`; worker k has the samples of number + 1000 k.
  void step(int64_t number) {
    for (int64_t worker = 0; worker < workers_; ++worker) {
      const int64_t samples = number + 1000 * worker;
      for (int64_t i = 0; i < kSamples * kInputs; ++i)
        store_element(DType::f64, session_.input("x"), i, value_at(i, samples));
      for (int64_t i = 0; i < kSamples * kOutputs; ++i)
        store_element(DType::f64, session_.input("c"), i, value_at(i, 100 + samples));
      session_.work(worker);
    }
  }

  Tensors state() const {
    Tensors tensors;
    for (const NamedTensor& tensor : store_.canonical())
      for (int64_t i = 0; i < tensor.type.elements(); ++i)
        tensors[tensor.name].push_back(load_element(tensor.type.dtype, tensor.data.data(), i));
    return tensors;
  }

  Session& session() { return session_; }
  StateStore& store() { return store_; }

 private:
  Compiled compiled(std::vector<ParameterGroup> groups, bool log_layers) {
    CompileOptions options;
    options.target = backend_->target();
    options.precision = Precision::f64;
    options.groups = std::move(groups);
    options.log_layers = log_layers;
    options.workers = {1, workers_};
    return compile(linear_model(), options);
  }

  std::unique_ptr<Backend> backend_;
  StateStore store_;
  const int64_t workers_;
  Session session_;
};

// Returns the gradients of one step: "fc.weight" (outputs, inputs) and "fc.bias".
Tensors gradients(int64_t step) {
  Tensors g{{"fc.weight", std::vector<double>(kOutputs * kInputs)}, {"fc.bias", std::vector<double>(kOutputs)}};
  for (int64_t n = 0; n < kSamples; ++n)
    for (int64_t o = 0; o < kOutputs; ++o) {
      const double c = value_at(n * kOutputs + o, 100 + step);
      g["fc.bias"][static_cast<size_t>(o)] += c;
      for (int64_t i = 0; i < kInputs; ++i)
        g["fc.weight"][static_cast<size_t>(o * kInputs + i)] += c * value_at(n * kInputs + i, step);
    }
  return g;
}

double squares(const std::vector<double>& x) {
  double sum = 0;
  for (const double v : x) sum += v * v;
  return sum;
}

double norm(const Tensors& g) { return std::sqrt(squares(g.at("fc.weight")) + squares(g.at("fc.bias"))); }

double difference(const std::vector<double>& a, const std::vector<double>& b) {
  BOOST_REQUIRE(a.size() == b.size());
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(wrapped_rules)

// Clipping follows PyTorch's clip_grad_norm_: the norm is taken over all parameters together, and 1e-6 is added to it
// in the denominator.
BOOST_AUTO_TEST_CASE(the_gradient_is_clipped_by_its_norm_over_all_parameters) {
  for (const double limit : {0.5, 25.0, 1e6}) {
    Trained trained(with_clipped_gradient(sgd_update));
    trained.session().set_scalar(kClipNorm, limit);
    Tensors expected = trained.state();
    int clipped = 0;
    for (int64_t step = 0; step < 6; ++step) {
      trained.step(step);
      const Tensors g = gradients(step);
      const double share = std::min(1.0, limit / (norm(g) + 1e-6));
      clipped += share < 1;
      for (auto& [name, values] : expected)
        for (size_t i = 0; i < values.size(); ++i) values[i] -= 0.01 * share * g.at(name)[i];
    }
    BOOST_TEST(clipped == (limit == 0.5 ? 6 : limit == 1e6 ? 0 : clipped));
    const Tensors got = trained.state();
    for (const auto& [name, values] : expected) BOOST_TEST(difference(got.at(name), values) < 1e-12, name);
  }
}

// The gradient is clipped once, after the sum over workers, so virtual workers in turn take the step of as many workers
// at once.
BOOST_AUTO_TEST_CASE(the_gradient_is_clipped_once_behind_the_sum_over_workers) {
  constexpr double kLimit = 20;
  Trained trained(with_clipped_gradient(sgd_update), false, 3);
  trained.session().set_scalar(kClipNorm, kLimit);
  Tensors expected = trained.state();
  trained.step(0);
  Tensors g = gradients(0);
  double parts = 0;
  for (int64_t worker = 1; worker < 3; ++worker)
    for (const auto& [name, values] : gradients(1000 * worker))
      for (size_t i = 0; i < values.size(); ++i) g.at(name)[i] += values[i];
  for (int64_t worker = 0; worker < 3; ++worker) parts += std::min(kLimit, norm(gradients(1000 * worker)));
  BOOST_TEST(norm(g) > kLimit);
  BOOST_TEST(parts > 1.1 * kLimit);  // gradients clipped one by one would make another step
  const double share = kLimit / (norm(g) + 1e-6);
  for (auto& [name, values] : expected)
    for (size_t i = 0; i < values.size(); ++i) values[i] -= 0.01 * share * g.at(name)[i];
  const Tensors got = trained.state();
  for (const auto& [name, values] : expected) BOOST_TEST(difference(got.at(name), values) < 1e-12, name);
}

// Two groups with a limit each, which is one of the whole gradient or, where the rule asks for that, of the group's
// own.
BOOST_AUTO_TEST_CASE(a_group_is_clipped_by_the_norm_that_its_rule_asks_for) {
  const std::map<std::string, double> limits = {{"fc.weight", 20}, {"fc.bias", 3}};
  for (const ClippedNorm which : {ClippedNorm::of_losses, ClippedNorm::of_group}) {
    std::vector<ParameterGroup> groups;
    for (const auto& [name, limit] : limits)
      groups.push_back({.name = name,
                        .rule = with_clipped_gradient(sgd_update, which),
                        .owns = [own = name](const Variable& parameter) { return parameter.name == own; }});
    Trained trained(std::move(groups));
    const Tensors before = trained.state(), g = gradients(0);
    for (const auto& [name, limit] : limits) {
      trained.session().set_scalar(name + ".learning_rate", 0.01);
      trained.session().set_scalar(name + "." + kClipNorm, limit);
    }
    trained.step(0);
    for (const auto& [name, limit] : limits) {
      const double of = which == ClippedNorm::of_group ? std::sqrt(squares(g.at(name))) : norm(g);
      BOOST_TEST(limit < of);
      std::vector<double> expected = before.at(name);
      for (size_t i = 0; i < expected.size(); ++i) expected[i] -= 0.01 * limit / (of + 1e-6) * g.at(name)[i];
      BOOST_TEST(difference(trained.state().at(name), expected) < 1e-12, name);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_limit_that_is_not_reached_changes_no_bit) {
  Trained plain(momentum_update), clipped(with_clipped_gradient(momentum_update));
  clipped.session().set_scalar(kClipNorm, 1e9);
  for (int64_t step = 0; step < 4; ++step) {
    plain.step(step);
    clipped.step(step);
  }
  BOOST_TEST(plain.store().state_sha256() == clipped.store().state_sha256());
}

// The average a follows a <- D a + (1 - D) w, where w are the updated parameters; it begins with the initial ones.
BOOST_AUTO_TEST_CASE(the_average_begins_at_the_initial_parameters) {
  Trained trained(with_averaged_parameters(momentum_update)), plain(momentum_update);
  trained.session().set_scalar(kEmaDecay, 0.8);
  Tensors average = plain.state();
  for (int64_t step = 0; step < 10; ++step) {
    trained.step(step);
    plain.step(step);
    const Tensors now = plain.state();
    for (const char* name : {"fc.weight", "fc.bias"}) {
      std::vector<double>& a = average.at(name);
      for (size_t i = 0; i < a.size(); ++i) a[i] = 0.8 * a[i] + 0.2 * now.at(name)[i];
      std::vector<double> got = trained.state().at(name);
      BOOST_TEST(got == now.at(name));
      const std::vector<double> offset = trained.state().at(std::string(kEmaOffset) + "." + name);
      for (size_t i = 0; i < got.size(); ++i) got[i] += offset[i];
      BOOST_TEST(difference(got, a) < 1e-12, name << " after " << step + 1);
    }
  }
}

BOOST_AUTO_TEST_CASE(layers_report_their_norms_and_what_the_rule_does_with_them) {
  const auto is_lars = [](const Optimizer& row) { return row.name == "lars"; };
  const Optimizer& lars = *std::ranges::find_if(optimizers(), is_lars);
  Trained logged(update_rule(lars), true), plain(update_rule(lars));
  for (Trained* trained : {&logged, &plain})
    for (const NamedScalar& scalar : {NamedScalar{"weight_decay", 0.01}, {"trust", 0.5}, {"skip_scale", 0.1}})
      trained->session().set_scalar(scalar.name, scalar.value);
  for (int64_t step = 0; step < 3; ++step) {
    const Tensors before = logged.state(), g = gradients(step);
    logged.step(step);
    plain.step(step);
    std::vector<double> weight, gradient, trust;
    logged.session().read("layer.weight", weight);
    logged.session().read("layer.gradient", gradient);
    logged.session().read("layer.trust", trust);
    const std::vector<Segment>& segments = logged.store().space().segments;
    BOOST_REQUIRE(weight.size() == segments.size());
    for (size_t i = 0; i < segments.size(); ++i) {
      const std::string& name = segments[i].name;
      const double w = std::sqrt(squares(before.at(name))), of_g = std::sqrt(squares(g.at(name)));
      BOOST_TEST(std::abs(weight[i] - w) < 1e-12, name);
      BOOST_TEST(std::abs(gradient[i] - of_g) < 1e-12, name);
      const double decay = segments[i].decay ? 0.01 : 0;
      BOOST_TEST(std::abs(trust[i] - 0.5 * w / (of_g + decay * w)) < 1e-12, name);
    }
  }
  BOOST_TEST(logged.store().state_sha256() == plain.store().state_sha256());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::wrapped_rules_test
