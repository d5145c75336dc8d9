// train(): a training as a function call, of a task that has no images.
#include "recipes/train/train.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <optional>
#include <thread>

#include "recipes/config/learning.h"
#include "recipes/config/run_task.h"
#include "recipes/train/parts.h"
#include "runtime/flat_json.h"
#include "tests/recipes/ranks.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::train_test {
namespace {

// Returns samples of two fields: x in five dimensions, and the vector of sin(a . x) and its square.
std::shared_ptr<const Source> waves(int64_t count, uint32_t seed) {
  std::vector<float> x, y;
  uint32_t word = seed;
  for (int64_t i = 0; i < count; ++i) {
    double sum = 0;
    for (int axis = 0; axis < 5; ++axis) {
      word = word * 1664525u + 1013904223u;
      x.push_back(static_cast<float>(word >> 8) * 0x1p-23f - 1);
      sum += (axis + 1) * 0.3 * static_cast<double>(x.back());
    }
    y.push_back(static_cast<float>(std::sin(sum)));
    y.push_back(y.back() * y.back());
  }
  return std::make_shared<TableSource>(count, std::vector{field_bytes(x), field_bytes(y)});
}

ModelOutput two_waves(Inputs& in) {
  Tensor hidden = tanh(linear("hidden", in["x"], 16));
  Tensor error = linear("out", hidden, 2) - in["y"];
  Tensor squares = mean(error * error, {1});
  return {squares, {{"rms", squares, {.finish = std::sqrt}}}};
}

Task vectors() {
  return {.name = "vectors",
          .fields = {{.name = "x", .dtype = DType::f32, .shape = {5}, .axes = "C", .in_memory = true},
                     {.name = "y", .dtype = DType::f32, .shape = {2}, .in_memory = true}},
          .model = two_waves,
          .train = waves(640, 1),
          .test = waves(101, 2)};
}

TrainConfig small_config() {
  TrainConfig config = config_of({.minibatch = 32, .optimizer = "adam", .lr = 0.01});
  config.length.steps = 60;
  config.arithmetic.shards = 2;
  config.batch.per_worker = 8;
  return config;
}

Result trained(const TrainConfig& config, Observer& observer, const TrainingState* from = nullptr) {
  LocalMachine machine(2);
  return train(vectors(), config, machine, observer, from);
}

// Counts what it is told, and ends the training after `stop_after` steps.
struct Counting : Observer {
  bool is_one_of_several = false;
  int64_t stop_after = INT64_MAX, steps = 0, evaluations = 0, checkpoints = 0, looks = 0;
  std::vector<double> losses;

  void step(const StepMetrics& metrics) override {
    ++steps;
    losses.push_back(metrics.loss);
  }
  void evaluated(const EvaluationReport&) override { ++evaluations; }
  void save_checkpoint(const CheckpointCursor&) override { ++checkpoints; }
  // The observer slows the steps down once it asks for a stop: several processes agree by their heartbeats, which are
  // slower than these steps.
  bool wants_to_stop() override {
    if (++looks < stop_after) return false;
    if (is_one_of_several) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return true;
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(train_call)

BOOST_AUTO_TEST_CASE(a_task_of_two_vectors_trains_and_is_evaluated) {
  Counting seen;
  const Result result = trained(small_config(), seen);
  BOOST_TEST((result.loop.ending == Ending::finished));
  BOOST_TEST(result.state.step == 60);
  BOOST_TEST(seen.steps == 60);
  BOOST_TEST(seen.evaluations == 3);  // 640 / 32 = 20 steps an epoch
  BOOST_TEST(seen.checkpoints == 3);
  BOOST_TEST(seen.losses.back() < 0.3 * seen.losses.front());
  BOOST_TEST(result.loop.evaluation->count == 101);
  BOOST_TEST(result.loop.evaluation->loss < 0.3 * seen.losses.front());
}

// The state after five steps depends on the seed of the weights and on that of the samples' order, each of which may
// differ from the seed of the run.
BOOST_AUTO_TEST_CASE(seeds_of_weights_and_order_may_be_set_apart) {
  const auto with = [](int64_t seed, std::optional<int64_t> weights, std::optional<int64_t> order) {
    TrainConfig config = small_config();
    config.length.steps = 5;
    config.arithmetic.seed = seed;
    config.arithmetic.seed_weights = weights;
    config.arithmetic.seed_order = order;
    Counting seen;
    return test::hash(trained(config, seen).state);
  };
  const std::string plain = with(1, {}, {});
  BOOST_TEST(with(9, 1, 1) == plain);
  BOOST_TEST(with(1, 1, {}) == plain);
  BOOST_TEST(with(9, {}, {}) != plain);
  BOOST_TEST(with(1, 2, {}) != plain);
  BOOST_TEST(with(1, {}, 2) != plain);
  BOOST_TEST(with(2, {}, 1) == with(1, 2, {}));
}

// "rms" is the root of the mean of values that are the losses themselves.
BOOST_AUTO_TEST_CASE(metrics_of_training_are_means_over_the_steps) {
  struct Seen : Observer {
    double sum = 0;
    int64_t steps = 0;
    std::vector<double> reported;
    void step(const StepMetrics& metrics) override {
      sum += metrics.loss;
      ++steps;
      BOOST_REQUIRE(metrics.metrics.size() == 1u);
      BOOST_TEST(metrics.metrics[0].name == "rms");
      BOOST_TEST(metrics.means[0] == metrics.loss, boost::test_tools::tolerance(1e-6));
    }
    void evaluated(const EvaluationReport& report) override {
      BOOST_REQUIRE(report.training.has_value());
      BOOST_TEST(report.training->count == steps * 32);
      BOOST_TEST(report.training->loss == sum / static_cast<double>(steps), boost::test_tools::tolerance(1e-12));
      BOOST_TEST(report.training->goal()->value == std::sqrt(report.training->loss),
                 boost::test_tools::tolerance(1e-6));
      sum = 0;
      steps = 0;
    }
  } seen;
  TrainConfig config = small_config();
  Observer silent;
  const std::string without = test::hash(trained(config, silent).state);
  config.judging.train_metrics = true;
  BOOST_TEST(test::hash(trained(config, seen).state) == without);
}

// Resumes a run whose metrics are these lines.
struct Resumed : Counting {
  std::vector<std::string> lines;
  explicit Resumed(std::vector<std::string> kept) : lines(std::move(kept)) {}
  bool ready(const Ready&, LoopStart& start) override {
    start.past = [this](const std::function<void(const FlatJson&)>& take) {
      for (FlatJson line; const std::string& text : lines)
        if (line.parse(text)) take(line);
    };
    return true;
  }
};

constexpr const char *kStep4 = R"({"kind":"step","step":4,"loss":0.5})",
                     *kEval = R"({"kind":"eval","step":5,"loss":0.5,"rms":0.7,"count":101,"ema_loss":2,"ema_rms":1})";

// The evaluations of the final state are told, also by a training that is resumed with them behind its last step, and
// none of an earlier state.
BOOST_AUTO_TEST_CASE(parameters_and_their_averages_are_told_of_the_final_state) {
  TrainConfig config = small_config();
  config.length.steps = 5;
  config.learning.ema = 0.5;
  config.judging.eval_ema = true;
  Counting seen, stopped;
  Resumed resumed({kStep4, kEval});
  const Result whole = trained(config, seen), again = trained(config, resumed, &whole.state);
  BOOST_TEST(whole.loop.averaged.value().loss != whole.loop.evaluation.value().loss);
  BOOST_TEST(again.loop.evaluation.value().loss == 0.5);
  BOOST_TEST(again.loop.averaged.value().loss == 2);
  config.length.steps = 60;
  config.judging.eval_on_stop = false;
  stopped.stop_after = 25;
  const Result middle = trained(config, stopped);
  BOOST_TEST(stopped.evaluations == 1);
  BOOST_TEST(!middle.loop.evaluation);
  BOOST_TEST(!middle.loop.averaged);
}

// A run that reached the target without being asked for it went on.
BOOST_AUTO_TEST_CASE(a_target_that_a_run_went_on_from_is_sought_again) {
  TrainConfig config = small_config();
  config.length.steps = 5;
  Counting seen;
  const Result whole = trained(config, seen);
  config.length.steps = 7;
  config.length.target = TargetFigure{"loss", 0.6};
  Resumed at_once({kStep4, kEval}), went_on({kEval, kStep4});
  BOOST_TEST(trained(config, at_once, &whole.state).loop.target.value().step == 5);
  BOOST_TEST(at_once.steps == 0);
  trained(config, went_on, &whole.state);
  BOOST_TEST(went_on.steps == 2);
}

BOOST_AUTO_TEST_CASE(an_evaluation_is_the_mean_over_the_test_part) {
  TrainConfig config = small_config();
  config.length.steps = 1;
  config.learning.lr = 0;
  Counting seen;
  const Result result = trained(config, seen);
  std::map<std::string, std::vector<double>> w;
  for (const NamedTensor& tensor : result.state.tensors)
    for (int64_t i = 0; i < tensor.type.elements(); ++i)
      w[tensor.name].push_back(load_element(tensor.type.dtype, tensor.data.data(), i));
  const std::shared_ptr<const Source> test = vectors().test;
  const auto *x = reinterpret_cast<const float*>(test->table(0).data()),
             *y = reinterpret_cast<const float*>(test->table(1).data());
  double sum = 0;
  for (int64_t n = 0; n < 101; ++n)
    for (int64_t o = 0; o < 2; ++o) {
      double out = w.at("out.bias")[static_cast<size_t>(o)];
      for (int64_t h = 0; h < 16; ++h) {
        double in = w.at("hidden.bias")[static_cast<size_t>(h)];
        for (int64_t c = 0; c < 5; ++c)
          in += w.at("hidden.weight")[static_cast<size_t>(h * 5 + c)] * static_cast<double>(x[n * 5 + c]);
        out += w.at("out.weight")[static_cast<size_t>(o * 16 + h)] * std::tanh(in);
      }
      const double error = out - static_cast<double>(y[n * 2 + o]);
      sum += error * error / 2;
    }
  BOOST_TEST(result.loop.evaluation->loss == sum / 101, boost::test_tools::tolerance(1e-5));
  BOOST_TEST(result.loop.evaluation->goal()->value == std::sqrt(sum / 101), boost::test_tools::tolerance(1e-5));
}

BOOST_AUTO_TEST_CASE(stopped_by_an_observer_it_goes_on_to_the_same_bits) {
  Counting whole, first, second;
  const std::string expected = test::hash(trained(small_config(), whole).state);
  first.stop_after = 27;
  const Result stopped = trained(small_config(), first);
  BOOST_TEST((stopped.loop.ending == Ending::interrupted));
  BOOST_TEST(stopped.state.step == 27);
  BOOST_TEST(test::hash(stopped.state) != expected);
  const Result rest = trained(small_config(), second, &stopped.state);
  BOOST_TEST(second.steps == 33);
  BOOST_TEST(test::hash(rest.state) == expected);
}

// Three trainings run at once in threads of one process; one has its data in the memory of the device, one another
// seed.
BOOST_AUTO_TEST_CASE(several_trainings_in_one_process_do_not_meet) {
  Counting alone;
  const std::string expected = test::hash(trained(small_config(), alone).state);
  std::vector<std::string> hashes(3);
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < hashes.size(); ++i)
      threads.emplace_back([&, i] {
        TrainConfig config = small_config();
        config.arithmetic.seed = i == 2 ? 2 : 1;
        if (i == 1) config.arithmetic.resident = ResidentChoice::on;
        Observer silent;
        hashes[i] = test::hash(trained(config, silent).state);
      });
  }
  BOOST_TEST(hashes[0] == expected);
  BOOST_TEST(hashes[1] == expected);
  BOOST_TEST(hashes[2] != expected);
}

BOOST_AUTO_TEST_CASE(two_processes_give_the_bits_of_one_and_stop_together) {
  Counting alone, stopped_alone;
  const std::string expected = test::hash(trained(small_config(), alone).state);
  stopped_alone.stop_after = 27;
  const TrainingState middle = trained(small_config(), stopped_alone).state;
  const auto on_two = [&](int64_t stop_after, const TrainingState* from) {
    std::vector<TrainingState> states(2);
    test::on_ranks(2, [&](int rank, Machine machine) {
      Counting seen;
      seen.is_one_of_several = true;
      if (rank == 1) seen.stop_after = stop_after;
      states[static_cast<size_t>(rank)] = train(vectors(), small_config(), machine, seen, from).state;
    });
    BOOST_TEST(states[0].step == states[1].step);
    BOOST_TEST(test::hash(states[0]) == test::hash(states[1]));
    return states[0];
  };
  BOOST_TEST(test::hash(on_two(INT64_MAX, nullptr)) == expected);
  BOOST_TEST(test::hash(on_two(INT64_MAX, &middle)) == expected);
  const TrainingState stopped = on_two(20, nullptr);
  BOOST_TEST(stopped.step >= 20);
  BOOST_TEST(stopped.step < 60);
  Counting rest;
  BOOST_TEST(test::hash(trained(small_config(), rest, &stopped).state) == expected);
}

BOOST_AUTO_TEST_CASE(what_a_task_lacks_is_told) {
  Observer silent;
  LocalMachine machine(1);
  Task task = vectors();
  task.test = nullptr;
  BOOST_CHECK_EXCEPTION(train(task, small_config(), machine, silent), Error,
                        test::says("vectors: there are no samples to judge a training by\n  expected: a test part, or "
                                   "samples that are held out"));
  TrainConfig judged = small_config();
  judged.judging.validation = 5;
  train(task, judged, machine, silent);
  task = vectors();
  task.model = [](Inputs& in) -> ModelOutput { return {mean(in["z"], {1}), {}}; };
  BOOST_CHECK_EXCEPTION(train(task, small_config(), machine, silent), Error,
                        test::says("no such field\n  at train_test.cpp:", "one of x, y", "did you mean 'x'?"));
  task.model = [](Inputs& in) -> ModelOutput { return {mean(in["x"], {1}) * in.scalar("step"), {}}; };
  BOOST_CHECK_EXCEPTION(train(task, small_config(), machine, silent), Error,
                        test::says("Inputs::scalar: no such scalar\n  at train_test.cpp:"));
  task.model = nullptr;
  BOOST_CHECK_EXCEPTION(train(task, small_config(), machine, silent), Error, test::says("has no model function"));
  for (const char* name : {"weights", "label_smoothing", "x", ""}) {
    task = vectors();
    task.fields[1].name = name;
    BOOST_CHECK_EXCEPTION(train(task, small_config(), machine, silent), Error,
                          test::says("expected: a name of its own"));
  }
  for (const int64_t extent : {int64_t{0}, int64_t{1} << 31}) {
    task = vectors();
    task.fields[1].shape = {extent};
    BOOST_CHECK_EXCEPTION(train(task, small_config(), machine, silent), Error,
                          test::says("field 'y' has an extent out of range"));
  }
  BOOST_CHECK_EXCEPTION(TableSource(0, {}), Error, test::says("a source has no samples"));
  BOOST_CHECK_EXCEPTION(TableSource(3, {{DType::u8, std::vector<std::byte>(10)}}), Error,
                        test::says("field 0 of a source: expected a whole number of bytes for each of 3 samples"));
  // Such an order once made the source read memory beyond its table.
  const TableSource three(3, {{DType::f32, std::vector<std::byte>(12)}});
  BOOST_CHECK_EXCEPTION(three.gather(Order::evaluation(4, 2), 0), Error,
                        test::says("a source of 3 samples: expected an order of at most so many, got one of 4"));
  const auto error_of = [&](const Task& given, const TrainConfig& config) {
    return test::error_of([&] { train(given, config, machine, silent); });
  };
  task = vectors();
  task.fields.push_back({.name = "more"});
  BOOST_TEST(error_of(task, small_config()) ==
             "a source gives 2 fields of a sample: expected the 3 that the task declares (Task::fields)");
  TrainConfig config = small_config();
  config.batch.per_worker = 5;
  BOOST_TEST(
      error_of(vectors(), config) ==
      "batch.minibatch, batch.per_worker: expected a minibatch that is a multiple of 5 = 1 process x 5 samples of "
      "a worker, got 32\n  hint:     batch.minibatch 30 or 35, or batch.per_worker 4 or 8");
}

// Returns a task of three classes with these labels, in which every sample is the number 1.
Task classes_of(const std::vector<int32_t>& labels) {
  const std::vector<float> x(labels.size(), 1.0f);
  const auto rows = static_cast<int64_t>(labels.size());
  const auto source = std::make_shared<TableSource>(rows, std::vector{field_bytes(x), field_bytes(labels)});
  const auto model = [](Inputs& in) -> ModelOutput {
    return {cross_entropy(linear("fc", in["x"], 3), in["label"]), {}};
  };
  return {.name = "classes",
          .fields = {{.name = "x", .dtype = DType::f32, .shape = {1}, .in_memory = true},
                     {.name = "label", .dtype = DType::i32, .below = 3, .in_memory = true}},
          .model = model,
          .train = source,
          .test = source};
}

BOOST_AUTO_TEST_CASE(wrong_indices_and_sizes_are_refused_before_a_kernel_sees_them) {
  Observer silent;
  LocalMachine machine(1);
  for (const ResidentChoice resident : {ResidentChoice::off, ResidentChoice::on}) {
    TrainConfig config = config_of({.minibatch = 4});
    config.length.steps = 2;
    config.arithmetic.resident = resident;
    BOOST_CHECK_NO_THROW(train(classes_of({0, 1, 2, 0, 1, 2, 0, 1}), config, machine, silent));
    for (const int32_t wrong : {3, -1, INT32_MAX})
      BOOST_CHECK_EXCEPTION(train(classes_of({0, 1, 2, 0, 1, 2, 0, wrong}), config, machine, silent), Error,
                            test::says("field 'label'", fmt::format("expected indices in [0, 3), got {}", wrong)));
    Task pairs = classes_of({0, 1, 2, 0});
    pairs.train = std::make_shared<TableSource>(
        4, std::vector{field_bytes(std::vector<float>(8)), field_bytes(std::vector<int32_t>(4))});
    BOOST_CHECK_EXCEPTION(train(pairs, config, machine, silent), Error, test::says("bytes", "got"));
    config.batch.minibatch = 16;
    BOOST_CHECK_EXCEPTION(train(classes_of({0, 1, 2, 0}), config, machine, silent), Error,
                          test::says("expected at most the 4 training samples, got 16"));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::train_test
