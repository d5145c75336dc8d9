// Tests two networks, each with a loss and an update rule of its own, which one step trains, against loops in double.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <map>

#include "compiler/passes/parameter_groups.h"
#include "graph/layers.h"
#include "graph/scope.h"
#include "runtime/session.h"

namespace kb::two_groups_test {
namespace {

constexpr int64_t kSamples = 8, kNoise = 2, kHidden = 4, kPoint = 3;
constexpr const char *kGenerator = "generator", *kDiscriminator = "discriminator";

// Values by name; matrices are row-major.
using Numbers = std::map<std::string, std::vector<double>>;

Tensor network(const Tensor& x, int64_t results) { return linear("fc2", tanh(linear("fc1", x, kHidden)), results); }

// The generator makes points of noise, which the discriminator tells from given ones.
Graph adversarial() {
  Graph graph("final");
  const Tensor noise = input(graph, "noise", DType::f32, {kSamples, kNoise}, "NC");
  const Tensor points = input(graph, "points", DType::f32, {kSamples, kPoint}, "NC");
  Tensor made, real;
  {
    const Scope scope(kGenerator);
    made = network(noise, kPoint);
  }
  {
    const Scope scope(kDiscriminator);
    real = network(points, 1);
  }
  const Reuse again(kDiscriminator);
  const Tensor fake = network(made, 1);
  const double share = 1.0 / kSamples;
  graph.outputs.push_back({"d_loss", (sum(softplus(-real) + softplus(fake)) * share).value(), Merge::sum});
  graph.outputs.push_back({"g_loss", (sum(softplus(-fake)) * share).value(), Merge::sum});
  return graph;
}

Tensor momentum_rule(UpdateContext& c) {
  const Tensor velocity = c.scalar("momentum") * c.slot("velocity") + c.gradient;
  c.set_slot("velocity", velocity);
  return c.parameter - c.scalar("learning_rate") * velocity;
}

CompileOptions options_for(const Backend& backend, Precision precision) {
  CompileOptions options;
  options.target = backend.target();
  options.precision = precision;
  options.objectives = {{"d_loss", kDiscriminator}, {"g_loss", kGenerator}};
  for (const char* name : {kGenerator, kDiscriminator})
    options.groups.push_back({.name = name, .rule = momentum_rule, .owns = owns_scope(name)});
  return options;
}

double noise_at(int64_t step, int64_t i) { return std::sin(static_cast<double>(step * 31 + i * 7 + 1)); }
double point_at(int64_t step, int64_t i) { return std::cos(static_cast<double>(step * 17 + i * 5)); }

struct Training {
  std::unique_ptr<Backend> backend = make_cpu_backend({1, 1, ""});
  StateStore store{*backend};
  Session session;
  std::map<std::string, double> rates{{kGenerator, 0.05}, {kDiscriminator, 0.1}};

  explicit Training(Precision precision = Precision::f64)
      : session(*backend, store, compile(adversarial(), options_for(*backend, precision))) {
    store.initialise(3);
  }

  void fill(const char* name, int64_t step, double (*value)(int64_t, int64_t)) {
    const Type& type = session.input_type(name);
    for (int64_t i = 0; i < type.elements(); ++i) store_element(type.dtype, session.input(name), i, value(step, i));
  }

  void step(int64_t number) {
    fill("noise", number, noise_at);
    fill("points", number, point_at);
    for (const auto& [group, rate] : rates) {
      session.set_scalar(group + ".learning_rate", rate);
      session.set_scalar(group + ".momentum", 0.9);
    }
    session.set_scalar("loss_scale_interval", 100);
    session.step();
    session.wait();
  }

  Numbers numbers() const {
    Numbers result;
    for (const NamedTensor& tensor : store.canonical())
      for (int64_t i = 0; i < tensor.type.elements(); ++i)
        result[tensor.name].push_back(load_element(tensor.type.dtype, tensor.data.data(), i));
    return result;
  }
};

// ---- the training by hand

double softplus_of(double x) { return std::log1p(std::exp(x)); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

struct Pass {
  std::vector<double> x, hidden, y;
};

class ByHand {
 public:
  explicit ByHand(Numbers state) : state_(std::move(state)) {}

  double d_loss = 0, g_loss = 0;
  const Numbers& state() const { return state_; }

  void step(int64_t number, const std::map<std::string, double>& rates) {
    std::vector<double> noise, points;
    for (int64_t i = 0; i < kSamples * kNoise; ++i) noise.push_back(noise_at(number, i));
    for (int64_t i = 0; i < kSamples * kPoint; ++i) points.push_back(point_at(number, i));
    const Pass made = forward(kGenerator, noise, kNoise, kPoint);
    const Pass real = forward(kDiscriminator, points, kPoint, 1), fake = forward(kDiscriminator, made.y, kPoint, 1);
    d_loss = g_loss = 0;
    std::vector<double> by_real, by_fake, by_score;  // derivatives by the scores
    for (size_t n = 0; n < kSamples; ++n) {
      d_loss += (softplus_of(-real.y[n]) + softplus_of(fake.y[n])) / kSamples;
      g_loss += softplus_of(-fake.y[n]) / kSamples;
      by_real.push_back(-sigmoid(-real.y[n]) / kSamples);
      by_fake.push_back(sigmoid(fake.y[n]) / kSamples);
      by_score.push_back(-sigmoid(-fake.y[n]) / kSamples);
    }
    Numbers gradient, unused;
    backward(kDiscriminator, real, by_real, kPoint, 1, gradient);
    backward(kDiscriminator, fake, by_fake, kPoint, 1, gradient);
    const std::vector<double> by_made = backward(kDiscriminator, fake, by_score, kPoint, 1, unused);
    backward(kGenerator, made, by_made, kNoise, kPoint, gradient);
    update(gradient, rates);
  }

 private:
  const std::vector<double>& of(const std::string& network, const char* tensor) const {
    return state_.at(network + "." + tensor);
  }

  // x (rows, in) times the transposed w (out, in), plus b.
  static std::vector<double> affine(const std::vector<double>& x, const std::vector<double>& w,
                                    const std::vector<double>& b, int64_t in) {
    const auto out = std::ssize(b);
    std::vector<double> y;
    for (int64_t n = 0; n < kSamples; ++n)
      for (int64_t o = 0; o < out; ++o) {
        double sum = b[static_cast<size_t>(o)];
        for (int64_t i = 0; i < in; ++i) sum += x[static_cast<size_t>(n * in + i)] * w[static_cast<size_t>(o * in + i)];
        y.push_back(sum);
      }
    return y;
  }

  Pass forward(const std::string& net, const std::vector<double>& x, int64_t in, int64_t) const {
    Pass pass{x, affine(x, of(net, "fc1.weight"), of(net, "fc1.bias"), in), {}};
    for (double& h : pass.hidden) h = std::tanh(h);
    pass.y = affine(pass.hidden, of(net, "fc2.weight"), of(net, "fc2.bias"), kHidden);
    return pass;
  }

  // Adds the gradients of one layer, and returns the derivatives by its input.
  std::vector<double> layer(const std::string& name, const std::vector<double>& x, const std::vector<double>& dy,
                            int64_t in, int64_t out, Numbers& gradient) const {
    const std::vector<double>& w = state_.at(name + ".weight");
    std::vector<double>&gw = gradient[name + ".weight"], &gb = gradient[name + ".bias"];
    gw.resize(static_cast<size_t>(in * out));
    gb.resize(static_cast<size_t>(out));
    std::vector<double> dx(x.size());
    for (int64_t n = 0; n < kSamples; ++n)
      for (int64_t o = 0; o < out; ++o) {
        const double d = dy[static_cast<size_t>(n * out + o)];
        gb[static_cast<size_t>(o)] += d;
        for (int64_t i = 0; i < in; ++i) {
          const auto at = static_cast<size_t>(n * in + i), cell = static_cast<size_t>(o * in + i);
          gw[cell] += d * x[at];
          dx[at] += d * w[cell];
        }
      }
    return dx;
  }

  std::vector<double> backward(const std::string& net, const Pass& pass, const std::vector<double>& dy, int64_t in,
                               int64_t out, Numbers& gradient) const {
    std::vector<double> d = layer(net + ".fc2", pass.hidden, dy, kHidden, out, gradient);
    for (size_t i = 0; i < d.size(); ++i) d[i] *= 1 - pass.hidden[i] * pass.hidden[i];
    return layer(net + ".fc1", pass.x, d, in, kHidden, gradient);
  }

  void update(const Numbers& gradient, const std::map<std::string, double>& rates) {
    for (const auto& [name, slopes] : gradient) {
      std::vector<double>&w = state_.at(name), &v = state_.at("velocity." + name);
      for (size_t i = 0; i < w.size(); ++i) {
        v[i] = 0.9 * v[i] + slopes[i];
        w[i] -= rates.at(name.substr(0, name.find('.'))) * v[i];
      }
    }
  }

  Numbers state_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(two_groups)

BOOST_AUTO_TEST_CASE(ten_steps_are_those_by_hand) {
  Training training;
  ByHand by_hand(training.numbers());
  BOOST_TEST(by_hand.state().size() == 16u);  // 8 tensors and a slot each
  for (int64_t step = 0; step < 10; ++step) {
    training.step(step);
    by_hand.step(step, training.rates);
    BOOST_TEST(std::abs(training.session.read_scalar("d_loss") - by_hand.d_loss) < 1e-9);
    BOOST_TEST(std::abs(training.session.read_scalar("g_loss") - by_hand.g_loss) < 1e-9);
  }
  const Numbers got = training.numbers();
  for (const auto& [name, expected] : by_hand.state())
    for (size_t i = 0; i < expected.size(); ++i)
      BOOST_TEST(std::abs(got.at(name).at(i) - expected[i]) < 1e-9, name << "[" << i << "]");
}

BOOST_AUTO_TEST_CASE(a_group_whose_rate_is_0_keeps_every_bit) {
  for (const Precision precision : {Precision::f32, Precision::f16})
    for (const char* still : {kGenerator, kDiscriminator}) {
      Training training(precision);
      training.rates[still] = 0;
      const Numbers before = training.numbers();
      for (int64_t step = 0; step < 5; ++step) training.step(step);
      for (const auto& [name, values] : training.numbers())
        if (!name.starts_with("velocity") && !name.starts_with("loss_scale"))
          BOOST_TEST((values == before.at(name)) == name.starts_with(still), name << " beside " << still);
    }
}

// Both losses have one scale, so a step in which any gradient is not finite leaves both networks as they are.
BOOST_AUTO_TEST_CASE(a_loss_scale_holds_for_all_groups) {
  Training training(Precision::f16);
  training.step(0);
  const Numbers before = training.numbers();
  const Type& type = training.session.input_type("points");
  training.fill("noise", 1, noise_at);
  for (int64_t i = 0; i < type.elements(); ++i) store_element(type.dtype, training.session.input("points"), i, 1e30);
  training.session.step();
  training.session.wait();
  Numbers after = training.numbers();
  BOOST_TEST(after.at("loss_scale")[0] == before.at("loss_scale")[0] / 2);
  for (const auto& [name, values] : before)
    if (!name.starts_with("loss_scale")) BOOST_TEST((after.at(name) == values), name);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::two_groups_test
