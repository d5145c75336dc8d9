// A loss with counts: the sum of the values over the sum of the counts of the global minibatch, whatever the counts of
// each worker. A linear model over ragged rows of numbers has closed forms.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>

#include "recipes/config/learning.h"
#include "recipes/train/train.h"
#include "tests/recipes/ranks.h"
#include "tests/support/says.h"

namespace kb::counted_loss_test {
namespace {

constexpr int64_t kSamples = 16, kWide = 300;

// The first worker's four samples have 3 tokens together, the third one's 300; a sample of the last has none.
const std::vector<float> kCounts = {1, 1, 1, 0, 2, 5, 7, 9, 90, 80, 70, 60, 4, 0, 3, 2};

std::vector<float> values() {
  std::vector<float> x(static_cast<size_t>(kSamples * kWide));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(std::sin(1.7 * static_cast<double>(i) + 0.3));
  return x;
}

// The loss of a token x is (w x - 1)^2 / 2; tokens from the sample's count on are padding.
Tensor token_losses(Inputs& in) {
  const Tensor x = in["x"];
  const Tensor w = parameter(in.graph(), "w", Role::weight, {x.dtype(), {1}, ""}, {InitKind::constant, 0.5, 0});
  const Tensor error = x * broadcast_axes(reshape(w, {}), x.shape(), {}) - 1.0;
  const Tensor position = broadcast_axes(cast(iota(in.graph(), DType::i32, kWide), x.dtype()), x.shape(), {1});
  const Tensor is_token = position < broadcast_axes(in["count"], x.shape(), {0});
  return sum(select(is_token, 0.5 * error * error, 0.0), {1});
}

Task task_of(std::function<ModelOutput(Inputs&)> model) {
  const auto source = std::make_shared<TableSource>(kSamples, std::vector{field_bytes(values()), field_bytes(kCounts)});
  return {.name = "tokens",
          .fields = {{.name = "x", .shape = {kWide}}, {.name = "count"}},
          .model = std::move(model),
          .train = source,
          .test = source};
}

ModelOutput counted(Inputs& in) {
  const Tensor losses = token_losses(in), count = in["count"];
  ModelOutput output;
  output.losses = {{.values = losses, .count = count}};
  output.metrics = {{"rms", losses, {.finish = std::sqrt}, count}};
  return output;
}

TrainConfig config_of_run() {
  TrainConfig config = config_of({.minibatch = kSamples, .optimizer = "sgd", .lr = 0.1, .schedule = "constant"});
  config.length.steps = 1;
  config.batch.per_worker = 4;
  config.arithmetic.shards = 2;
  config.arithmetic.precision = Precision::f64;
  config.judging.train_metrics = true;
  return config;
}

struct Mean {
  double loss = 0, gradient = 0;
};

// Returns the mean over all tokens of all samples, and its derivative.
Mean mean_at(double w) {
  const std::vector<float> x = values();
  Mean sum;
  double tokens = 0;
  for (size_t i = 0; i < static_cast<size_t>(kSamples); ++i)
    for (size_t t = 0; t < static_cast<size_t>(kCounts[i]); ++t, ++tokens) {
      const double own = x[i * static_cast<size_t>(kWide) + t], error = w * own - 1;
      sum.loss += error * error / 2;
      sum.gradient += error * own;
    }
  return {sum.loss / tokens, sum.gradient / tokens};
}

struct Seen : Observer {
  std::vector<double> losses;
  std::map<std::string, double> first;

  void step(const StepMetrics& metrics) override {
    losses.push_back(metrics.loss);
    for (size_t i = 0; i < metrics.metrics.size(); ++i) first.emplace(metrics.metrics[i].name, metrics.means[i]);
  }
};

Result trained(const Task& task, const TrainConfig& config, Observer& observer) {
  LocalMachine machine(2);
  return train(task, config, machine, observer);
}

double weight_of(const TrainingState& state) {
  for (const NamedTensor& tensor : state.tensors)
    if (tensor.name == "w") return load_element(tensor.type.dtype, tensor.data.data(), 0);
  throw Error("there is no w");
}

const auto kClose = boost::test_tools::tolerance(1e-12);

}  // namespace

BOOST_AUTO_TEST_SUITE(counted_loss)

BOOST_AUTO_TEST_CASE(the_gradient_is_that_of_the_joined_minibatch) {
  const Mean before = mean_at(0.5);
  for (const int64_t per_worker : {1, 4, 16}) {
    TrainConfig config = config_of_run();
    config.batch.per_worker = per_worker;
    Seen seen;
    const double w = weight_of(trained(task_of(counted), config, seen).state);
    BOOST_TEST(w == 0.5 - 0.1 * before.gradient, kClose);
    BOOST_TEST(seen.losses.at(0) == before.loss, kClose);
    BOOST_TEST(seen.first.at("rms") == before.loss, kClose);  // a step gives means; the root is taken of an epoch's
  }
}

BOOST_AUTO_TEST_CASE(an_evaluation_counts_tokens) {
  Seen seen;
  const Result result = trained(task_of(counted), config_of_run(), seen);
  const Mean after = mean_at(weight_of(result.state));
  const Evaluation& evaluation = result.loop.evaluation.value();
  BOOST_TEST(evaluation.loss == after.loss, kClose);
  BOOST_TEST(evaluation.value("rms").value() == std::sqrt(after.loss), kClose);
}

BOOST_AUTO_TEST_CASE(clipping_and_norms_see_the_mean_over_the_tokens) {
  TrainConfig config = config_of_run();
  config.learning.clip_norm = 0.01;
  Seen seen;
  const double sign = mean_at(0.5).gradient > 0 ? 1 : -1;
  const double expected = 0.5 - 0.1 * sign * 0.01;
  BOOST_TEST(weight_of(trained(task_of(counted), config, seen).state) == expected, boost::test_tools::tolerance(1e-5));

  struct Norms : Observer {
    double mean = 0;
    void step(const StepMetrics& metrics) override { mean = metrics.norms ? metrics.norms->minibatch : 0; }
  } norms;
  config = config_of_run();
  config.judging.noise_scale = true;
  trained(task_of(counted), config, norms);
  BOOST_TEST(norms.mean == std::pow(mean_at(0.5).gradient, 2), boost::test_tools::tolerance(1e-6));
}

BOOST_AUTO_TEST_CASE(every_split_has_the_same_bits) {
  TrainConfig config = config_of_run();
  config.arithmetic.precision = Precision::f32;
  config.length.steps = 3;
  Seen seen;
  const std::string whole = test::hash(trained(task_of(counted), config, seen).state);
  for (const int ranks : {2, 4})
    for (const std::string& split : test::hashes_of_ranks(ranks, task_of(counted), config)) BOOST_TEST(split == whole);
}

BOOST_AUTO_TEST_CASE(nothing_to_count_is_no_step) {
  const auto none = [](Inputs& in) {
    ModelOutput output;
    output.losses = {{.values = token_losses(in) * 0.0, .count = in["count"] * 0.0}};
    return output;
  };
  Seen seen;
  BOOST_TEST(weight_of(trained(task_of(none), config_of_run(), seen).state) == 0.5);
  BOOST_TEST(seen.losses.at(0) == 0);
}

// Two losses of groups of their own, one of them with a count; the total is the sum of both means.
BOOST_AUTO_TEST_CASE(a_group_has_a_count_of_its_own) {
  const auto two = [](Inputs& in) {
    Tensor losses, count = in["count"];
    {
      const Scope scope("a");
      losses = token_losses(in);
    }
    const Scope scope("b");
    const Tensor w = parameter(in.graph(), "v", Role::weight, {losses.dtype(), {1}, ""}, {InitKind::constant, 2, 0});
    const Tensor other = broadcast_axes(reshape(w * w, {}), losses.shape(), {});
    ModelOutput output;
    output.losses = {{"tokens", losses, "a", count}, {"plain", other, "b"}};
    return output;
  };
  Seen seen;
  const Result result = trained(task_of(two), config_of_run(), seen);
  BOOST_TEST(seen.first.at("tokens") == mean_at(0.5).loss, kClose);
  BOOST_TEST(seen.losses.at(0) == mean_at(0.5).loss + 4, kClose);
  std::map<std::string, double> end;
  for (const NamedTensor& tensor : result.state.tensors)
    end[tensor.name] = load_element(tensor.type.dtype, tensor.data.data(), 0);
  BOOST_TEST(end.at("a.w") == 0.5 - 0.1 * mean_at(0.5).gradient, kClose);
  BOOST_TEST(end.at("b.v") == 2 - 0.1 * 4, kClose);
  BOOST_TEST(result.loop.evaluation->loss == mean_at(end.at("a.w")).loss + std::pow(end.at("b.v"), 2), kClose);
}

BOOST_AUTO_TEST_CASE(counts_that_mean_nothing_are_refused) {
  Observer silent;
  const auto with_two = [](Inputs& in) {
    const Tensor losses = token_losses(in);
    ModelOutput output;
    output.losses = {{"tokens", losses, "", in["count"]}, {"plain", losses}};
    return output;
  };
  BOOST_CHECK_EXCEPTION(trained(task_of(with_two), config_of_run(), silent), Error,
                        test::says("Objective::count: group \"\" has several losses, one of them with a count"));
  const auto reduced = [](Inputs& in) {
    ModelOutput output;
    output.losses = {{.values = token_losses(in), .count = sum(in["count"])}};
    return output;
  };
  BOOST_CHECK_EXCEPTION(trained(task_of(reduced), config_of_run(), silent), Error,
                        test::says("count of the loss of the model"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::counted_loss_test
