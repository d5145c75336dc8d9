// Tests configurations, tasks and states that train() refuses before it compiles or trains, and data that are not
// finite, which are named by field and sample.
#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <limits>

#include "recipes/config/learning.h"
#include "recipes/config/run_plan.h"
#include "recipes/task/checked_task.h"
#include "recipes/train/train.h"
#include "tests/recipes/ranks.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::train_refusals_test {

BOOST_AUTO_TEST_SUITE(train_refusals)

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kRows = 40;

std::vector<float> ramp() {
  std::vector<float> x;
  for (int64_t i = 0; i < 2 * kRows; ++i) x.push_back(static_cast<float>(i % 7) / 7);
  return x;
}

std::shared_ptr<const Source> pairs(const std::vector<float>& x = ramp()) {
  return std::make_shared<TableSource>(kRows, std::vector{field_bytes(x)});
}

// `models` counts how often its model was asked for.
Task sloped(int& models) {
  const auto model = [&models](Inputs& in) -> ModelOutput {
    ++models;
    const Tensor error = linear("fc", in["x"], 1) - 3.0;
    return {mean(error * error, {1}), {}};
  };
  return {.name = "sloped", .fields = {{"x", DType::f32, {2}}}, .model = model, .train = pairs(), .test = pairs()};
}

TrainConfig short_config() {
  TrainConfig config = config_of({.minibatch = 8, .optimizer = "momentum", .lr = 0.01});
  config.length.steps = 12;
  config.arithmetic.shards = 1;
  return config;
}

Result trained(const Task& task, const TrainConfig& config, const TrainingState* from = nullptr) {
  LocalMachine machine(1);
  Observer silent;
  return train(task, config, machine, silent, from);
}

struct Fixture {
  int models = 0;
  const Task task = sloped(models);

  void refused(const TrainConfig& config, const std::string& expected) {
    BOOST_CHECK_EXCEPTION(trained(task, config), Error, test::says(expected));
    BOOST_TEST(models == 0, expected);
  }
};

// Returns the labels 0, 1, 2 in turn, and `last` as the last one.
std::vector<int32_t> labels_with(int32_t last) {
  std::vector<int32_t> labels;
  for (int32_t i = 0; i < static_cast<int32_t>(kRows); ++i) labels.push_back(i % 3);
  labels.back() = last;
  return labels;
}

Task labelled(const Field& label, FieldBytes labels) {
  const auto source = std::make_shared<TableSource>(kRows, std::vector{field_bytes(ramp()), std::move(labels)});
  const auto model = [](Inputs& in) -> ModelOutput {
    const Tensor logits = linear("fc", in["x"], 3), label = in["label"];
    return {cross_entropy(logits, label), {{"error", 1.0 - argmax_equals(logits, label), {.is_share = true}}}};
  };
  return {.name = "labelled",
          .fields = {{.name = "x", .dtype = DType::f32, .shape = {2}, .in_memory = true}, label},
          .model = model,
          .classes = 3,
          .train = source,
          .test = source};
}

// A task of two tokens a sample, each with a label; the last label is `last`.
Task labelled_tokens(int32_t last, bool in_memory) {
  std::vector<int32_t> labels = labels_with(2);
  const std::vector<int32_t> more = labels_with(last);
  labels.insert(labels.end(), more.begin(), more.end());
  Task task =
      labelled({.name = "label", .dtype = DType::i32, .shape = {2}, .in_memory = in_memory}, field_bytes(labels));
  task.model = [](Inputs& in) -> ModelOutput {
    const Tensor x = in["x"];
    const Tensor logits = linear("fc", reshape(x, {x.size(0), 2, 1}), 3);
    return {mean(cross_entropy(logits, in["label"]), {1}), {}};
  };
  return task;
}

TrainConfig config_with(bool resident) {
  TrainConfig config = short_config();
  config.arithmetic.resident = resident ? ResidentChoice::on : ResidentChoice::off;
  return config;
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_minibatch_larger_than_the_data_is_refused_before_anything_is_compiled, Fixture) {
  TrainConfig config = short_config();
  config.batch.minibatch = 41;
  refused(config, "batch.minibatch: expected at most the 40 training samples, got 41");
  config.batch.fit = true;
  refused(config, "batch.minibatch: expected at most the 40 training samples, got 41");
  config.batch.fit = false;
  config.judging.validation = 4;
  refused(config, "at most the 36 training samples, got 41\n  hint:     judging.validation holds out 4 more");
  config = short_config();
  config.batch.growths = {{{1}, 8}};
  refused(config, "expected minibatches of at most the 40 training samples, got 64");
  BOOST_CHECK_NO_THROW(trained(task, short_config()));
  BOOST_TEST(models > 0);
}

BOOST_FIXTURE_TEST_CASE(a_fit_chooses_the_samples_of_a_worker_itself, Fixture) {
  for (const Batching& own : {Batching{.per_worker = 4}, {.batch_norm = {NormGroup::Kind::ghost, 4}}}) {
    TrainConfig config = short_config();
    config.batch = own;
    config.batch.minibatch = 8;
    config.batch.fit = true;
    refused(config, "batch.fit: it chooses batch.per_worker itself");
  }
}

BOOST_FIXTURE_TEST_CASE(a_half_life_in_samples_has_one_minibatch, Fixture) {
  TrainConfig config = short_config();
  use_optimizer({.optimizer = "momentum"}, {}, config.learning, "adam");
  config.batch.growths = {{{1}, 2}};
  BOOST_CHECK_NO_THROW(trained(task, config));
  models = 0;
  config.learning.half_life = 100;
  refused(config, "learning.half_life, batch.growths: expected one of them, got both");
}

// The bounds are those of the flags.
BOOST_FIXTURE_TEST_CASE(values_that_a_flag_would_refuse_are_refused, Fixture) {
  const auto with = [&](const char* expected, const std::function<void(TrainConfig&)>& change) {
    TrainConfig config = short_config();
    change(config);
    refused(config, expected);
  };
  with("batch.minibatch: expected a whole number in [1, 2^31), got '0'", [](TrainConfig& c) { c.batch.minibatch = 0; });
  with("length.epochs: ", [](TrainConfig& c) { c.length.epochs = -1; });
  with("length.steps: ", [](TrainConfig& c) { c.length.steps = -1; });
  with("learning.ema: expected a number in [0, 1), got '2'", [](TrainConfig& c) { c.learning.ema = 2; });
  with("learning.clip_norm: expected a number >= 0, got '-1'", [](TrainConfig& c) { c.learning.clip_norm = -1; });
  with("arithmetic.loader_threads: ", [](TrainConfig& c) { c.arithmetic.loader_threads = -1; });
  with("learning.lr: expected a number >= 0, got 'nan'", [](TrainConfig& c) { c.learning.lr = kNan; });
  with("learning.lr: ", [](TrainConfig& c) { c.learning.lr = std::numeric_limits<double>::infinity(); });
  with("learning.lr: ", [](TrainConfig& c) { c.learning.base_minibatch = 4, c.learning.lr = -1; });
  with("learning.warmup_epochs: ", [](TrainConfig& c) { c.learning.warmup_epochs = kNan; });
  with("learning.warmup_from: ", [](TrainConfig& c) { c.learning.warmup_start = kNan; });
  with("learning.label_smoothing: ", [](TrainConfig& c) { c.learning.label_smoothing = 1; });
  with("learning.milestones: ", [](TrainConfig& c) { c.learning.milestones = {1, kNan}; });
  with("learning.hyper.momentum: ", [](TrainConfig& c) { c.learning.hyper.front().value = kNan; });
  with("judging.eval_every: ", [](TrainConfig& c) { c.judging.eval_every.count = kNan; });
  with("judging.save_every: ", [](TrainConfig& c) { c.judging.save_every.count = -1; });
  with("length.stop_at: ", [](TrainConfig& c) { c.length.stop_at.percent = 200; });
  with("length.target: ", [](TrainConfig& c) { c.length.target = {"loss", kNan}; });
  with("batch.growths: ", [](TrainConfig& c) { c.batch.growths = {{{0}, 2}}; });
  with("judging.validation: ", [](TrainConfig& c) { c.judging.validation = -1; });
  with("arithmetic.bucket_mb: ", [](TrainConfig& c) { c.arithmetic.bucket_mb = -1; });
  with("arithmetic.memory: ", [](TrainConfig& c) { c.arithmetic.memory = kNan; });
  with("learning.optimizer: ", [](TrainConfig& c) { c.learning.optimizer = "adamm"; });
  with("learning.schedule: ", [](TrainConfig& c) { c.learning.schedule = "cosinus"; });
}

BOOST_FIXTURE_TEST_CASE(programs_larger_than_the_memory_are_refused_with_both_figures, Fixture) {
  TrainConfig config = short_config();
  config.arithmetic.memory = 1e-7;
  BOOST_CHECK_EXCEPTION(trained(task, config), Error,
                        test::says("arithmetic.memory = 1e-07: expected programs of at most 100 B, got ",
                                   "hint:     arithmetic.memory = 0.01"));
  config.arithmetic.memory = 0.01;
  BOOST_CHECK_NO_THROW(trained(task, config));
}

BOOST_FIXTURE_TEST_CASE(a_state_that_is_not_the_trainings_is_refused, Fixture) {
  TrainConfig half = short_config();
  half.length.stop_at.duration = Period{6, Period::Unit::steps};
  const TrainingState state = trained(task, half).state;
  BOOST_REQUIRE(state.step == 6);
  const auto refused_with = [&](const std::string& expected, const std::function<void(TrainingState&)>& change) {
    TrainingState other = state;
    change(other);
    BOOST_CHECK_EXCEPTION(trained(task, short_config(), &other), Error, test::says(expected));
  };
  const std::string title =
      "the state to go on from holds other tensors than the training (- the state, + the training)\n";
  BOOST_REQUIRE(state.tensors.front().name == "fc.bias");
  refused_with(title + "+ fc.bias f32[1]", [](TrainingState& s) { s.tensors.erase(s.tensors.begin()); });
  refused_with(title + "- fc.offset f32[1]\n+ fc.bias f32[1]",
               [](TrainingState& s) { s.tensors.front().name = "fc.offset"; });
  refused_with(title + "- more f32[1]", [](TrainingState& s) {
    s.tensors.push_back(s.tensors.front());
    s.tensors.back().name = "more";
  });
  refused_with(title + "- fc.bias f32[1]", [](TrainingState& s) { s.tensors.push_back(s.tensors.front()); });
  refused_with("tensor fc.bias: expected f32[C=1], got f32[C=1] in 3 bytes",
               [](TrainingState& s) { s.tensors.front().data.pop_back(); });
  for (const int64_t step : {-3, 13, 9999})
    refused_with(fmt::format("expected one after 0 to 12 steps, the length of the training, got one after {}", step),
                 [&](TrainingState& s) { s.step = step; });
  TrainingState turned = state;
  std::reverse(turned.tensors.begin(), turned.tensors.end());
  BOOST_TEST(trained(task, short_config(), &turned).state.step == 12);
}

BOOST_AUTO_TEST_CASE(bytes_know_their_type) {
  const TrainConfig config = short_config();
  const auto refused = [&](const Field& label, FieldBytes bytes, const std::string& expected) {
    BOOST_CHECK_EXCEPTION(trained(labelled(label, std::move(bytes)), config), Error, test::says(expected));
  };
  const FieldBytes numbers = field_bytes(labels_with(0)), floats = field_bytes(std::vector<float>(kRows));
  refused({.name = "label", .dtype = DType::f32, .below = 3}, numbers, "field 'label' has `below`, as indices have");
  refused({.name = "label", .dtype = DType::f32, .below = 3}, floats, "got:      dtype f32, below 3");
  refused({.name = "label", .dtype = DType::i32, .below = -2}, numbers, "got:      dtype i32, below -2");
  refused({"label", DType::f32}, numbers, "expected: training samples whose bytes are f32\n  got:      bytes of i32");
  refused({.name = "label", .dtype = DType::i32, .below = 3}, floats, "field 'label' is declared as i32");
  refused({"label", DType::f32}, floats, "cross_entropy: labels have the wrong dtype");
  const Task whole = labelled({.name = "label", .dtype = DType::i32, .below = 3}, numbers);
  BOOST_CHECK_NO_THROW(trained(whole, config));
  const auto wrong = std::make_shared<TableSource>(kRows, std::vector{field_bytes(ramp()), floats});
  for (const auto& [part, name] :
       {std::pair(&Task::plain, "training"), {&Task::test, "test"}, {&Task::valid, "validation"}}) {
    Task task = whole;
    task.*part = wrong;
    BOOST_CHECK_EXCEPTION(trained(task, config), Error,
                          test::says(fmt::format("expected: {} samples whose bytes are i32", name), "bytes of f32"));
  }
}

BOOST_AUTO_TEST_CASE(classes_that_no_label_can_have_are_refused) {
  for (const int64_t classes : {int64_t{-3}, int64_t{1} << 31}) {
    Task task = labelled({.name = "label", .dtype = DType::i32}, field_bytes(labels_with(2)));
    task.classes = classes;
    BOOST_CHECK_EXCEPTION(trained(task, short_config()), Error,
                          test::says("task labelled: expected classes in [0, 2^31)", std::to_string(classes)));
  }
}

BOOST_AUTO_TEST_CASE(classes_bound_the_labels_by_themselves) {
  for (const bool in_memory : {false, true}) {
    const TrainConfig config = config_with(in_memory);
    const Field label{.name = "label", .dtype = DType::i32, .in_memory = in_memory};
    BOOST_CHECK_NO_THROW(trained(labelled(label, field_bytes(labels_with(2))), config));
    BOOST_CHECK_NO_THROW(trained(labelled_tokens(2, in_memory), config));
    for (const int32_t wrong : {3, -1}) {
      BOOST_CHECK_EXCEPTION(trained(labelled(label, field_bytes(labels_with(wrong))), config), Error,
                            test::says("field 'label'", fmt::format("got {} of ", wrong), " sample 39"));
      BOOST_CHECK_EXCEPTION(trained(labelled_tokens(wrong, in_memory), config), Error,
                            test::says("field 'label'", fmt::format("got {} as value 1 of ", wrong), " sample 39"));
    }
  }
}

// The samples held out and those left are numbered anew in their parts, but a message has a sample's number in the
// data. The two samples here have numbers that no sample of their parts has.
BOOST_AUTO_TEST_CASE(a_bad_label_is_named_by_its_number_in_the_data) {
  constexpr int64_t kHeldOut = 8, kLeft = kRows - kHeldOut;
  const Permutation permutation(0, 0, kRows);
  int64_t trained_on = 0, held_out = 0;
  for (int64_t position = 0; position < kRows; ++position) {
    int64_t& greatest = position < kLeft ? trained_on : held_out;
    greatest = std::max(greatest, permutation(position));
  }
  BOOST_REQUIRE(trained_on >= kLeft);
  BOOST_REQUIRE(held_out >= kHeldOut);
  for (const bool in_memory : {false, true})
    for (const auto& [sample, part] : {std::pair{trained_on, "training"}, {held_out, "validation"}}) {
      TrainConfig config = config_with(in_memory);
      config.judging.validation = kHeldOut;
      const Field label{.name = "label", .dtype = DType::i32, .below = 3, .in_memory = in_memory};
      Task task = labelled(label, field_bytes(labels_with(2)));
      std::vector<int32_t> labels = labels_with(2);
      labels[static_cast<size_t>(sample)] = 7;
      task.train = labelled(label, field_bytes(labels)).train;
      BOOST_CHECK_EXCEPTION(trained(task, config), Error,
                            test::says(fmt::format("expected indices in [0, 3), got 7 of {} sample {}", part, sample)));
      config.judging.validation = 0;
      BOOST_CHECK_EXCEPTION(trained(task, config), Error,
                            test::says(fmt::format("got 7 of training sample {}", sample)));
    }
}

// `below` is set to the number of classes only if exactly one field can be the labels.
BOOST_AUTO_TEST_CASE(other_numbers_keep_their_range) {
  Task task = labelled({.name = "label", .dtype = DType::i32, .below = 3}, field_bytes(labels_with(2)));
  task.fields.push_back({"age", DType::i32});
  BOOST_TEST(checked_task(task).fields.back().below == 0);
  task.fields[1].below = 0;
  BOOST_TEST(checked_task(task).fields[1].below == 0);  // either may be the labels
  task.fields.back().shape = {2};
  BOOST_TEST(checked_task(task).fields[1].below == 3);
  BOOST_TEST(checked_task(task).fields.back().below == 0);
  task.fields[1].shape = {2};
  BOOST_TEST(checked_task(task).fields[1].below == 0);  // either may be the labels
  task.fields[1].shape = {};
  task.fields[1].below = 4;  // with one number that the loss ignores
  BOOST_TEST(checked_task(task).fields.back().below == 0);
}

// The second value of sample 29 is not finite.
BOOST_FIXTURE_TEST_CASE(a_sample_that_is_not_finite_is_named, Fixture) {
  std::vector<float> x = ramp();
  x[59] = std::numeric_limits<float>::quiet_NaN();
  const std::string found = "made by: the data, field 'x' of {} sample 29: value 1 of 2 is nan";
  const auto reason = [](const Task& of, const TrainConfig& config) {
    const Result result = trained(of, config);
    BOOST_TEST((result.loop.ending == Ending::diverged));
    BOOST_TEST(!test::contains(result.loop.reason, "a smaller --lr"), result.loop.reason);
    return result.loop.reason;
  };
  const auto says = [](const std::string& text, const std::string& part) { BOOST_TEST(test::contains(text, part)); };
  Task bad = task;
  bad.train = pairs(x);
  for (const bool checks : {false, true})
    for (const int64_t seed : {1, 2, 3})
      for (const int64_t held_out : {0, 8}) {
        TrainConfig config = short_config();
        config.arithmetic.seed = seed;
        config.judging.check_finite = checks;
        config.judging.validation = held_out;
        config.batch.per_worker = 4;
        const std::string text = reason(bad, config);
        const bool is_held_out = text.find("validation") != std::string::npos;
        says(text, fmt::format(fmt::runtime(found), is_held_out ? "validation" : "training"));
      }
  bad = task;
  bad.test = pairs(x);
  says(reason(bad, short_config()), fmt::format(fmt::runtime(found), "test"));
}

// Each process has samples of its own, so that one alone meets the bad one.
BOOST_FIXTURE_TEST_CASE(a_sample_that_another_process_has_is_named_in_all, Fixture) {
  std::vector<float> x = ramp();
  x[59] = std::numeric_limits<float>::infinity();
  std::vector<std::string> reasons(2);
  test::on_ranks(2, [&](int rank, Machine machine) {
    int own_models = 0;
    Task bad = sloped(own_models);
    bad.train = pairs(x);
    TrainConfig config = short_config();
    config.arithmetic.shards = 2;
    Observer silent;
    reasons[static_cast<size_t>(rank)] = train(bad, config, machine, silent).loop.reason;
  });
  BOOST_TEST(reasons[0] == reasons[1]);
  BOOST_TEST(test::contains(reasons[0], "field 'x' of training sample 29: value 1 of 2 is inf (rank "));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::train_refusals_test
