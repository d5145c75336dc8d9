// Trainings on samples of different lengths: buckets, their order, and means over tokens. A linear model of tokens has
// closed forms, by which plain loops train in double.
#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <set>

#include "recipes/config/buckets.h"
#include "recipes/config/learning.h"
#include "recipes/run/schedule_text.h"
#include "recipes/task/ragged_source.h"
#include "recipes/train/train.h"
#include "tests/recipes/ranks.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::ragged_run_test {
namespace {

using test::says;

constexpr int64_t kBelow = 50, kTrain = 90, kTest = 23;

// Lengths from 1 to 20, short ones more often; values from 1 to kBelow - 1, so that 0 is padding alone.
RaggedTokens sequences(int64_t count, uint32_t word) {
  const auto next = [&word](uint32_t below) { return ((word = word * 1664525u + 1013904223u) >> 8) % below; };
  RaggedTokens all;
  for (int64_t i = 0; i < count; ++i) {
    std::vector<int32_t> tokens(1 + std::min(next(20), next(20)));
    for (int32_t& token : tokens) token = static_cast<int32_t>(1 + next(kBelow - 1));
    all.append(tokens);
  }
  return all;
}

double loss_of(double w, int32_t token) { return std::pow(w * token / kBelow - 1, 2) / 2; }
double slope_of(double w, int32_t token) { return (w * token / kBelow - 1) * token / kBelow; }

ModelOutput linear_model(Inputs& in) {
  const Tensor tokens = in["x"], lengths = in.length("x");
  const DType real = in.real();
  const Tensor w = parameter(in.graph(), "w", Role::weight, {real, {1}, ""}, {InitKind::constant, 0.5, 0});
  const Tensor x = cast(tokens, real) * (1.0 / kBelow);
  const Tensor error = x * broadcast_axes(reshape(w, {}), x.shape(), {}) - 1.0;
  const Tensor place = broadcast_axes(iota(in.graph(), DType::i32, x.size(1)), x.shape(), {1});
  const Tensor is_token = place < broadcast_axes(lengths, x.shape(), {0});
  const Tensor losses = sum(select(is_token, 0.5 * error * error, 0.0), {1}), count = cast(lengths, real);
  ModelOutput output;
  output.losses = {{.values = losses, .count = count}};
  output.metrics = {{{{"first"}}, {{count, true}}, [](std::span<const MetricValues> rows, int64_t) {
                       return std::vector{rows[0].values.at(5)};
                     }}};
  return output;
}

Task task_of() {
  const auto source = [](int64_t count, uint32_t seed) {
    return std::make_shared<RaggedSource>(std::vector{sequences(count, seed)}, "");
  };
  return {.name = "ragged",
          .fields = {ragged_field("x", kBelow), length_field("x")},
          .model = linear_model,
          .length = 16,
          .train = source(kTrain, 7),
          .test = source(kTest, 8)};
}

TrainConfig config_of_run() {
  TrainConfig config = config_of({.minibatch = 8, .optimizer = "sgd", .lr = 0.3, .schedule = "constant"});
  config.length.epochs = 2;
  config.batch.bucket_count = 3;
  config.arithmetic.shards = 2;
  config.arithmetic.precision = Precision::f64;
  return config;
}

struct Seen : Observer {
  std::vector<StepMetrics> steps;
  std::vector<Bucket> buckets;
  RunPlan plan;
  std::optional<NoiseScale> noise;

  void settled(const Task&, const Settled& choices) override {
    buckets = choices.buckets;
    plan = choices.plan;
  }
  void step(const StepMetrics& metrics) override {
    steps.push_back(metrics);
    steps.back().metrics = {};
  }
  void epoch(const EpochMetrics& metrics) override { noise = metrics.noise; }
};

Result trained(const Task& task, const TrainConfig& config, Observer& observer, const TrainingState* from = nullptr) {
  LocalMachine machine(2);
  return train(task, config, machine, observer, from);
}

double weight_of(const TrainingState& state) {
  for (const NamedTensor& tensor : state.tensors)
    if (tensor.name == "w") return load_element(tensor.type.dtype, tensor.data.data(), 0);
  throw Error("there is no w");
}

const auto kClose = boost::test_tools::tolerance(1e-12);

}  // namespace

BOOST_AUTO_TEST_SUITE(ragged_run)

BOOST_AUTO_TEST_CASE(a_run_is_that_of_plain_loops) {
  Seen seen;
  const Task task = task_of();
  const Result result = trained(task, config_of_run(), seen);
  BOOST_REQUIRE(seen.buckets.size() == 3u);
  const RaggedTokens tokens = sequences(kTrain, 7);
  const Order order =
      Order::training(1, in_buckets(*task.train, seen.buckets, std::vector<int64_t>(seen.buckets.size(), 8)));
  BOOST_TEST(seen.plan.steps_per_epoch == order.steps_per_epoch());
  BOOST_REQUIRE(std::ssize(seen.steps) == 2 * order.steps_per_epoch());
  double w = 0.5;
  for (int64_t step = 0; step < std::ssize(seen.steps); ++step) {
    double loss = 0, slope = 0, count = 0;
    for (int64_t row = 0; row < 8; ++row)
      for (const int32_t token : tokens[order.row(step, row).sample]) {
        loss += loss_of(w, token);
        slope += slope_of(w, token);
        ++count;
      }
    const StepMetrics& told = seen.steps[static_cast<size_t>(step)];
    const double length = static_cast<double>(seen.buckets[order.bucket(step)].length);
    BOOST_TEST(told.loss == loss / count, kClose);
    BOOST_TEST(told.length.value() == length);
    BOOST_TEST(told.padding.value() == 1 - count / (8 * length), kClose);
    w -= 0.3 * slope / count;
  }
  BOOST_TEST(weight_of(result.state) == w, kClose);

  const RaggedTokens judged = sequences(kTest, 8);
  double loss = 0;
  for (const int32_t token : judged.values) loss += loss_of(w, token);
  BOOST_TEST(result.loop.evaluation->loss == loss / static_cast<double>(judged.values.size()), kClose);
  BOOST_TEST(result.loop.evaluation->value("first").value() == static_cast<double>(judged[5].size()));
}

BOOST_AUTO_TEST_CASE(every_split_and_a_resumed_run_have_the_same_bits) {
  TrainConfig config = config_of_run();
  config.batch.per_worker = 2;
  config.arithmetic.precision = Precision::f32;
  const Task task = task_of();
  Seen seen;
  const std::string whole = test::hash(trained(task, config, seen).state);
  for (const int ranks : {2, 4})
    for (const std::string& split : test::hashes_of_ranks(ranks, task, config)) BOOST_TEST(split == whole);
  TrainConfig first = config;
  first.length.stop_at = parse_stop_at("7st");
  const TrainingState middle = trained(task, first, seen).state;
  BOOST_TEST(test::hash(trained(task, config, seen, &middle).state) == whole);
}

// --print-schedule draws the steps that a run would take.
BOOST_AUTO_TEST_CASE(a_printed_schedule_has_the_steps_of_the_buckets) {
  const test::TemporaryDirectory directory;
  Recipe recipe{.name = "ragged", .summary = "", .paper = "", .is_ragged = true};
  recipe.task = [](const TaskRequest&) { return task_of(); };
  RunConfig config{config_of_run(), {}, {}, {}};
  config.learning.schedule = "cosine";
  config.batch.tokens = 64;
  config.looking.print_schedule = directory / "s.svg";
  print_schedule(recipe, config);
  Seen seen;
  config.length.stop_at = parse_stop_at("1st");
  trained(task_of(), config, seen);
  BOOST_TEST(test::contains(test::read_file(config.looking.print_schedule),
                            fmt::format("cosine over {} steps", seen.plan.steps)));
}

// A step of T positions has T / L samples of a bucket of length L.
BOOST_AUTO_TEST_CASE(tokens_give_each_bucket_its_minibatch) {
  TrainConfig config = config_of_run();
  config.batch.tokens = 64;
  config.batch.bucket = {4, 8, 20};
  config.batch.per_worker = 4;  // of 8: two workers
  Seen seen;
  trained(task_of(), config, seen);
  BOOST_REQUIRE(seen.buckets.size() == 3u);
  for (const auto& [length, n] : seen.buckets) BOOST_TEST(n == 32 / length);
  BOOST_TEST(per_worker_at(100, config.batch, make_batch_plan(8, 4, 1)) == 1);
  std::set<double> lengths;
  for (const StepMetrics& step : seen.steps) lengths.insert(step.length.value());
  BOOST_TEST(lengths.size() == 3u);
}

BOOST_AUTO_TEST_CASE(the_noise_scale_is_of_the_samples_of_each_bucket) {
  TrainConfig config = config_of_run();
  config.batch.tokens = 64;
  config.batch.bucket = {4, 8, 20};
  config.batch.per_worker = 4;
  config.judging.noise_scale = true;
  Seen seen;
  trained(task_of(), config, seen);
  NoiseAverage average;
  for (const StepMetrics& step : seen.steps)
    average.add(noise_sample(step.norms.value(), 2, 32 / static_cast<int64_t>(step.length.value())));
  BOOST_TEST(seen.noise.value().trace == average.estimate().value().trace, kClose);
  BOOST_TEST(seen.noise.value().gradient2 == average.estimate().value().gradient2, kClose);
}

BOOST_AUTO_TEST_CASE(the_last_bucket_holds_what_is_judged) {
  Task task = task_of();
  RaggedTokens brief;
  brief.append(std::vector<int32_t>{1, 2});
  task.train = std::make_shared<RaggedSource>(std::vector{brief}, "");
  const RaggedTokens judged = sequences(kTest, 8);
  int64_t longest = 0;
  for (int64_t i = 0; i < judged.count(); ++i) longest = std::max<int64_t>(longest, std::ssize(judged[i]));
  BOOST_TEST(choose_buckets(task, {.bucket_count = 1}, make_batch_plan(1, 1, 1)).back().length == longest);
}

BOOST_AUTO_TEST_CASE(a_minibatch_grows_at_any_step) {
  TrainConfig config = config_of_run();
  config.batch.per_worker = 2;
  config.batch.growths = parse_growths("--minibatch-schedule", "3st:x2,1ep:x2");
  const Task task = task_of();
  Seen seen;
  const TrainingState whole = trained(task, config, seen).state;
  const RaggedTokens tokens = sequences(kTrain, 7);
  const std::vector<OrderBucket> buckets =
      in_buckets(*task.train, seen.buckets, std::vector<int64_t>(seen.buckets.size(), 8));
  const MinibatchPhase grown = seen.plan.phase(1);
  BOOST_TEST(grown.begin_step == 3);
  BOOST_TEST(grown.begin_sample == 24);
  BOOST_REQUIRE(grown.rest_steps > 0);
  BOOST_TEST(std::ssize(seen.steps) == 3 + grown.rest_steps + seen.plan.phase(2).steps_per_epoch);
  double w = 0.5;
  for (int64_t step = 0; step < std::ssize(seen.steps); ++step) {
    const Order order = order_in_phase(seen.plan, seen.plan.phase_of(step), 1, buckets);
    BOOST_TEST(order.minibatch(step) == 8 * seen.plan.phase(seen.plan.phase_of(step)).factor);
    double slope = 0, count = 0;
    for (int64_t row = 0; row < order.minibatch(step); ++row)
      for (const int32_t token : tokens[order.row(step, row).sample]) {
        slope += slope_of(w, token);
        ++count;
      }
    w -= 0.3 * slope / count;
  }
  BOOST_TEST(weight_of(whole) == w, kClose);
  for (const std::string& split : test::hashes_of_ranks(4, task, config)) BOOST_TEST(split == test::hash(whole));
  TrainConfig first = config;
  first.length.stop_at = parse_stop_at("4st");  // within the epoch in which the minibatch grows
  const TrainingState middle = trained(task, first, seen).state;
  BOOST_TEST(test::hash(trained(task, config, seen, &middle).state) == test::hash(whole));
}

BOOST_AUTO_TEST_CASE(held_out_samples_and_noise_have_buckets) {
  TrainConfig config = config_of_run();
  config.judging.validation = 20;
  Seen seen;
  const Result result = trained(task_of(), config, seen);
  BOOST_TEST(result.loop.evaluation->count == kTest);
  BOOST_TEST(seen.plan.samples == kTrain - 20);
}

BOOST_AUTO_TEST_CASE(lengths_that_do_not_fit_are_refused) {
  Observer silent;
  TrainConfig config = config_of_run();
  config.batch.bucket = {4};
  BOOST_CHECK_EXCEPTION(trained(task_of(), config, silent), Error,
                        says("batch.bucket: expected a last length that every sample to evaluate on fits"));
  config = config_of_run();
  config.batch.tokens = 64;
  config.batch.per_worker = 4;
  config.learning.base_minibatch = 8;
  config.learning.scaling = "adascale";
  BOOST_CHECK_EXCEPTION(trained(task_of(), config, silent), Error,
                        says("batch.tokens: expected none beside learning.scaling = adascale", "got 64"));
  config = config_of_run();
  config.batch.tokens = 100;
  Task square = task_of();
  square.fields = {{.name = "x", .shape = {2}}};
  square.train = square.test = std::make_shared<TableSource>(8, std::vector{field_bytes(std::vector<float>(16))});
  square.model = [](Inputs& in) -> ModelOutput { return {mean(linear("fc", in["x"], 2), {1}), {}}; };
  BOOST_CHECK_EXCEPTION(trained(square, config, silent), Error,
                        says("batch.tokens: expected a task with ragged fields, got ragged"));
  Task without_lengths = task_of();
  without_lengths.fields.pop_back();
  BOOST_CHECK_EXCEPTION(trained(without_lengths, config_of_run(), silent), Error,
                        says("field 'x' is ragged", "a field 'x.length' with its lengths"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::ragged_run_test
