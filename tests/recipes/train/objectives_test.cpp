// Several losses, each of which moves a group of parameters of its own; metrics of sums and rows; drawings.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>
#include <set>

#include "graph/scope.h"
#include "recipes/config/learning.h"
#include "recipes/train/train.h"
#include "tests/recipes/ranks.h"
#include "tests/support/says.h"

namespace kb::objectives_test {
namespace {

using test::says;

constexpr int64_t kTrain = 64, kTest = 21;

std::vector<float> numbers(int64_t count) {
  std::vector<float> values;
  uint32_t word = 7;
  for (int64_t i = 0; i < count; ++i) {
    word = word * 1664525u + 1013904223u;
    values.push_back(static_cast<float>(word >> 8) * 0x1p-23f - 1);
  }
  return values;
}

std::shared_ptr<const Source> vectors(int64_t count) {
  return std::make_shared<TableSource>(count, std::vector{field_bytes(numbers(3 * count))});
}

// "maker" maps x; "judge" is called on x and on what the maker makes of it. The losses pull the judge's answers apart.
ModelOutput two_networks(Inputs& in) {
  Tensor made, of_given, of_made;
  {
    const Scope scope("maker");
    made = linear("fc", in["x"], 3);
  }
  const auto judged = [](Tensor x) { return reshape(linear("fc", tanh(x), 1), {x.size(0)}); };
  {
    const Scope scope("judge");
    of_given = judged(in["x"]);
  }
  {
    const Reuse again("judge");
    of_made = judged(made);
  }
  ModelOutput output;
  output.losses = {{"maker_loss", softplus(-of_made), "maker"},
                   {"judge_loss", softplus(-of_given) + softplus(of_made), "judge"}};
  return output;
}

Task task_of(std::function<ModelOutput(Inputs&)> model) {
  return {.name = "networks",
          .fields = {{.name = "x", .shape = {3}, .axes = "C"}},
          .model = std::move(model),
          .train = vectors(kTrain),
          .test = vectors(kTest)};
}

TrainConfig config_of_run() {
  TrainConfig config = config_of({.minibatch = 16, .optimizer = "adam", .lr = 0.01, .schedule = "cosine"});
  config.length.steps = 8;
  config.batch.per_worker = 4;
  config.arithmetic.shards = 2;
  return config;
}

TrainConfig with_judges_rate(double rate) {
  TrainConfig config = config_of_run();
  config.group_learning = {{"judge", config.learning}};
  config.group_learning[0].learning.lr = rate;
  return config;
}

struct Seen : Observer {
  std::vector<std::map<std::string, double>> steps;
  std::vector<EvaluationReport> evaluations;
  std::vector<DrawnImages> drawn;

  void step(const StepMetrics& metrics) override {
    std::map<std::string, double>& all = steps.emplace_back();
    all["loss"] = metrics.loss;
    all["lr"] = metrics.lr;
    for (size_t i = 0; i < metrics.metrics.size(); ++i) all[metrics.metrics[i].name] = metrics.means[i];
    for (const NamedScalar& rate : metrics.group_rates) all[rate.name] = rate.value;
  }
  void evaluated(const EvaluationReport& report) override {
    evaluations.push_back(report);
    drawn.assign(report.drawings.begin(), report.drawings.end());
  }
};

Result trained(const Task& task, const TrainConfig& config, Observer& observer, const TrainingState* from = nullptr) {
  LocalMachine machine(2);
  return train(task, config, machine, observer, from);
}

std::map<std::string, std::vector<std::byte>> tensors_of(const TrainingState& state) {
  std::map<std::string, std::vector<std::byte>> tensors;
  for (const NamedTensor& tensor : state.tensors) tensors[tensor.name] = tensor.data;
  return tensors;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(objectives)

BOOST_AUTO_TEST_CASE(a_group_with_rate_0_keeps_every_bit_and_the_other_learns) {
  Seen seen;
  TrainConfig still = with_judges_rate(0);
  const auto end = tensors_of(trained(task_of(two_networks), still, seen).state);
  still.length.stop_at = parse_stop_at("1st");
  const auto begin = tensors_of(trained(task_of(two_networks), still, seen).state);
  for (const char* name : {"judge.fc.weight", "judge.fc.bias"}) BOOST_TEST((end.at(name) == begin.at(name)), name);
  for (const char* name : {"maker.fc.weight", "maker.fc.bias"}) BOOST_TEST((end.at(name) != begin.at(name)), name);
}

BOOST_AUTO_TEST_CASE(steps_tell_each_loss_and_each_rate) {
  Seen seen;
  const Result result = trained(task_of(two_networks), with_judges_rate(0.002), seen);
  BOOST_REQUIRE(seen.steps.size() == 8u);
  for (auto& step : seen.steps) {
    BOOST_TEST(step.at("loss") == step.at("maker_loss") + step.at("judge_loss"), boost::test_tools::tolerance(1e-6));
    BOOST_TEST(step.at("lr") == step.at("lr.maker"));
    BOOST_TEST(step.at("lr.judge") == 0.2 * step.at("lr.maker"), boost::test_tools::tolerance(1e-12));
  }
  const Evaluation& evaluation = result.loop.evaluation.value();
  BOOST_TEST(evaluation.loss == evaluation.value("maker_loss").value() + evaluation.value("judge_loss").value(),
             boost::test_tools::tolerance(1e-6));
}

// A step has four virtual workers of four samples. The bits are the same on one, two and four ranks, and after a stop
// at step three.
BOOST_AUTO_TEST_CASE(every_split_and_a_training_that_is_gone_on_with_have_the_same_bits) {
  const Task task = task_of(two_networks);
  const TrainConfig config = with_judges_rate(0.002);
  Seen seen;
  const std::string whole = test::hash(trained(task, config, seen).state);
  for (const int ranks : {2, 4})
    for (const std::string& split : test::hashes_of_ranks(ranks, task, config)) BOOST_TEST(split == whole);
  TrainConfig first = config;
  first.length.stop_at = parse_stop_at("3st");
  const TrainingState middle = trained(task, first, seen).state;
  BOOST_TEST(middle.step == 3);
  BOOST_TEST(test::hash(trained(task, config, seen, &middle).state) == whole);
}

BOOST_AUTO_TEST_CASE(groups_that_the_losses_do_not_name_are_refused) {
  Observer silent;
  TrainConfig config = config_of_run();
  config.group_learning = {{"critic", config.learning}};
  BOOST_CHECK_EXCEPTION(trained(task_of(two_networks), config, silent), Error,
                        says("group_learning: expected at most one row", "maker, judge, got 'critic'"));
  config.group_learning = {{"judge", config.learning}, {"judge", config.learning}};
  BOOST_CHECK_EXCEPTION(trained(task_of(two_networks), config, silent), Error, says("got 'judge'"));
  config.group_learning.pop_back();
  const auto one_loss = [](Inputs& in) -> ModelOutput { return {mean(linear("fc", in["x"], 2), {1}), {}}; };
  BOOST_CHECK_EXCEPTION(trained(task_of(one_loss), config, silent), Error,
                        says("'judge' owns none of the model's parameters"));
  config = config_of_run();
  config.learning.scaling = "adascale";
  config.learning.base_minibatch = 4;
  BOOST_CHECK_EXCEPTION(trained(task_of(two_networks), config, silent), Error,
                        says("learning.scaling: expected a rule"));
}

BOOST_AUTO_TEST_CASE(losses_need_names_and_scopes_of_their_own) {
  Observer silent;
  const auto refuses = [&](auto change, const std::string& text) {
    const auto model = [change](Inputs& in) {
      ModelOutput output = two_networks(in);
      change(output.losses);
      return output;
    };
    BOOST_CHECK_EXCEPTION(trained(task_of(model), config_of_run(), silent), Error, says(text));
  };
  refuses([](Losses& losses) { losses.clear(); }, "losses of the model\n  expected: one, or several");
  refuses([](Losses& losses) { losses[1].name = "lr"; }, "a metric is called 'lr'");
  refuses([](Losses& losses) { losses[1].values = mean(losses[1].values); }, "loss 'judge_loss' of the model");
  refuses([](Losses& losses) { losses[1].group = "critic"; }, "parameter \"judge.fc.weight\" belongs to no group");
}

BOOST_AUTO_TEST_CASE(metrics_and_drawings_that_cannot_be_told_apart_are_refused) {
  Observer silent;
  const auto refuses = [&](auto change, const std::string& text) {
    const auto model = [change](Inputs& in) {
      ModelOutput output = two_networks(in);
      change(output, in["x"]);
      return output;
    };
    BOOST_CHECK_EXCEPTION(trained(task_of(model), config_of_run(), silent), Error, says(text));
  };
  const auto image = [](Tensor x) { return reshape(x, {x.size(0), 3, 1, 1}); };
  refuses([](ModelOutput& o, Tensor x) { o.metrics = {{"judge_loss", mean(x, {1})}}; }, "'judge_loss' is the name of");
  refuses([=](ModelOutput& o, Tensor x) { o.drawings = {{"a/b", image(x)}}; }, "drawing 'a/b'");
  refuses([=](ModelOutput& o, Tensor x) { o.drawings = {{"made", x}}; }, "drawing 'made'");
  refuses(
      [=](ModelOutput& o, Tensor x) {
        o.drawings = {{"made", image(x)}, {"made", image(x)}};
      },
      "'made' is the name of several");
  refuses([](ModelOutput& o, Tensor x) { o.metrics = {{{{"sum"}}, {{x}}, nullptr}}; }, "1 outputs, no function");
}

double half(const ScheduleSpec&, const SchedulePoint& at) { return at.progress < 0.5 ? 1 : 0.5; }

BOOST_AUTO_TEST_CASE(a_tasks_own_schedule_is_known) {
  Task task = task_of([](Inputs& in) -> ModelOutput { return {mean(linear("fc", in["x"], 2), {1}), {}}; });
  task.schedules = {{"half", "the reference, then half of it", half}};
  TrainConfig config = config_of({.minibatch = 16, .optimizer = "sgd", .lr = 0.01, .schedule = "half"}, rules_of(task));
  config.length.steps = 8;
  Seen seen;
  trained(task, config, seen);
  BOOST_TEST(seen.steps.front().at("lr") == 0.01);
  BOOST_TEST(seen.steps.back().at("lr") == 0.005);
  BOOST_CHECK_EXCEPTION(config_of({.schedule = "half"}), Error, says("schedule: expected one of constant", "'half'"));
  task.schedules.clear();
  BOOST_CHECK_EXCEPTION(trained(task, config, seen), Error, says("learning.schedule: ", "'half'"));
}

// Metrics gather sums of a tensor, and rows in the order of the samples, also over a last batch that is not full. Plain
// loops compute the expected figures.
BOOST_AUTO_TEST_CASE(metrics_gather_sums_and_rows) {
  const auto model = [](Inputs& in) -> ModelOutput {
    const Tensor x = in["x"];
    const auto order = [](std::span<const MetricValues> outputs, int64_t samples) -> std::vector<double> {
      const std::vector<double>&sums = outputs[0].values, &rows = outputs[1].values;
      BOOST_TEST(samples == kTest);
      BOOST_TEST(std::ssize(sums) == 3);
      BOOST_TEST(std::ssize(rows) == 3 * kTest);
      double rising = 0;  // depends on the order of the rows
      for (size_t i = 3; i < rows.size(); i += 3) rising += rows[i] > rows[i - 3] ? 1 : 0;
      return {sums[0] - sums[2], rising};
    };
    return {
        mean(linear("fc", x, 2), {1}),
        {{"first", mean(x, {1})}, {{{"spread"}, {"rising", {.higher_is_better = true}}}, {{x * x}, {x, true}}, order}}};
  };
  double spread = 0, rising = 0, first = 0;
  const std::vector<float> x = numbers(3 * kTest);
  for (size_t i = 0; i < x.size(); i += 3) {
    spread += std::pow(static_cast<double>(x[i]), 2) - std::pow(static_cast<double>(x[i + 2]), 2);
    if (i > 0 && x[i] > x[i - 3]) ++rising;
    first += (x[i] + x[i + 1] + x[i + 2]) / 3.0 / kTest;
  }
  std::vector<std::vector<double>> figures;
  for (const int ranks : {1, 2, 4})
    test::on_ranks(ranks, [&](int rank, Machine machine) {
      TrainConfig config = config_of({.minibatch = 16, .epochs = 1, .optimizer = "sgd", .lr = 0.01});
      config.batch.per_worker = 4;
      Observer silent;
      const Evaluation evaluation = train(task_of(model), config, machine, silent).loop.evaluation.value();
      if (rank == 0)
        figures.push_back({evaluation.value("spread").value(), evaluation.value("rising").value(),
                           evaluation.value("first").value()});
    });
  BOOST_TEST(figures[0][0] == spread, boost::test_tools::tolerance(1e-5));
  BOOST_TEST(figures[0][1] == rising);
  BOOST_TEST(figures[0][2] == first, boost::test_tools::tolerance(1e-5));
  BOOST_TEST((figures[1] == figures[0]));
  BOOST_TEST((figures[2] == figures[0]));
}

BOOST_AUTO_TEST_CASE(the_first_samples_are_drawn_at_every_evaluation) {
  const auto model = [](Inputs& in) -> ModelOutput {
    const Tensor x = in["x"];
    return {mean(linear("fc", x, 2), {1}), {}, {}, {{"seen", reshape(x, {x.size(0), 3, 1, 1}), 10}}};
  };
  Seen seen;
  TrainConfig config = config_of({.minibatch = 16, .epochs = 1, .optimizer = "sgd", .lr = 0.01});
  config.batch.per_worker = 4;
  trained(task_of(model), config, seen);
  BOOST_REQUIRE(seen.drawn.size() == 1u);
  BOOST_TEST(seen.drawn[0].name == "seen");
  BOOST_TEST(seen.drawn[0].shape == (Dims{3, 1, 1}));
  const std::vector<float> x = numbers(30);
  BOOST_TEST(seen.drawn[0].values == std::vector<double>(x.begin(), x.end()));
}

// The last batch is not full. With one set of numbers for every batch there would be as many as a batch has rows.
BOOST_AUTO_TEST_CASE(each_sample_of_an_evaluation_has_random_numbers_of_its_own) {
  std::vector<double> drawn;
  const auto model = [&](Inputs& in) -> ModelOutput {
    const Tensor x = in["x"], noise = random_uniform(x.graph(), "noise", {x.size(0)});
    const auto keep = [&](std::span<const MetricValues> outputs, int64_t) -> std::vector<double> {
      drawn = outputs[0].values;
      return {drawn.front()};
    };
    return {mean(linear("fc", x, 2), {1}), {{{{"first"}}, {{noise, true}}, keep}}};
  };
  const auto drawn_by = [&](int64_t per_worker, int64_t seed) {
    TrainConfig config = config_of({.minibatch = 16, .epochs = 1, .optimizer = "sgd", .lr = 0.01});
    config.batch.per_worker = per_worker;
    config.arithmetic.seed = seed;
    Observer silent;
    trained(task_of(model), config, silent);
    return drawn;
  };
  const std::vector<double> by_four = drawn_by(4, 1);
  BOOST_TEST(std::ssize(by_four) == kTest);
  BOOST_TEST(std::set<double>(by_four.begin(), by_four.end()).size() == by_four.size());
  BOOST_TEST(drawn_by(8, 2) == by_four);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::objectives_test
