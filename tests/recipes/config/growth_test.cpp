// The minibatch that grows in the course of a run.
#include "recipes/config/growth.h"
#include "recipes/config/run_plan.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "data/order.h"
#include "recipes/config/flags.h"
#include "recipes/config/learning.h"
#include "recipes/train/train.h"
#include "tests/recipes/ranks.h"
#include "tests/recipes/small_run.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::growth_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using test::lines_of, test::of_kind, test::run, test::state_sha256;

RunConfig grown_config(std::vector<std::string> words) { return *parse_flags(test::small_recipe(), "small", words); }

Task ramps() {
  std::vector<float> x;
  for (int i = 0; i < 96; ++i) x.push_back(static_cast<float>((i * 37) % 96) / 96);
  const auto source = std::make_shared<TableSource>(96, std::vector{field_bytes(x)});
  const auto model = [](Inputs& in) -> ModelOutput {
    Tensor error = linear("out", tanh(linear("hidden", in["x"], 8)), 1) - in["x"] * in["x"];
    return {mean(error * error, {1}), {}};
  };
  return {.name = "ramps",
          .fields = {{.name = "x", .dtype = DType::f32, .shape = {1}, .in_memory = true}},
          .model = model,
          .train = source,
          .test = source};
}

// Counts, step by step, where a run is in its data.
struct Walk {
  int64_t samples, minibatch;
  int64_t epoch = 0, position = 0, drawn = 0, done = 0, epoch_begin = 0;

  void begin_epoch_if_full() {
    if (position + minibatch <= samples) return;
    ++epoch;
    position = 0;
    epoch_begin = done;
  }
  void grow_to(int64_t larger) {
    minibatch = larger;
    begin_epoch_if_full();
  }
  void step() {
    position += minibatch;
    drawn += minibatch;
    ++done;
    begin_epoch_if_full();
  }
};

Order order_of(const RunPlan& plan, int64_t step) {
  return order_in_phase(plan, plan.phase_of(step), 9, {{plan.samples, plan.minibatch}});
}

struct GrowthFixture {
  test::TemporaryDirectory directory;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(growth, GrowthFixture)

BOOST_AUTO_TEST_CASE(a_plan_counts_epochs_over_its_phases) {
  const RunConfig config =
      grown_config({"--minibatch", "10", "--epochs", "6", "--minibatch-schedule", "2ep:x3,4ep:x2"});
  const RunPlan plan = make_plan(config, 125);  // an epoch has 12, 4 and 2 steps in the three phases
  BOOST_TEST(plan.steps == 2 * 12 + 2 * 4 + 2 * 2);
  double epochs = 0;
  int64_t samples = 0;
  for (int64_t step = 0; step < plan.steps; ++step) {
    const int64_t minibatch = step < 24 ? 10 : step < 32 ? 30 : 60, each = 125 / minibatch;
    BOOST_TEST(plan.minibatch_at(step) == minibatch);
    BOOST_TEST(plan.epochs(step) == epochs, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(plan.samples_in(step) == samples);
    const bool ends = step > 0 && std::abs(epochs - std::round(epochs)) < 1e-9;
    BOOST_TEST(plan.ends_epoch(step) == ends, step);
    BOOST_TEST(plan.steps_in(epochs) == step);
    BOOST_TEST(plan.epoch_begin(step) == plan.steps_in(std::floor(epochs + 1e-9)));
    epochs += 1.0 / static_cast<double>(each);
    samples += minibatch;
  }
  BOOST_TEST(last_step(parse_stop_at("5ep"), plan) == 34);
  BOOST_TEST(last_step(parse_stop_at("3st"), plan) == 3);
}

BOOST_AUTO_TEST_CASE(a_plan_goes_on_within_an_epoch) {
  constexpr int64_t kSamples = 125;
  for (const char* schedule : {"25st:x2", "7st:x3,9st:x2", "11st:x4", "12st:x2", "0.13ks:x2", "0.131ks:x2,38st:x4",
                               "1.5ep:x2,3ep:x3", "1ep:x2,20st:x3,0.41ks:x2", "1st:x2,2st:x2,3st:x2"}) {
    BOOST_TEST_CONTEXT(schedule) {
      const RunConfig config = grown_config({"--minibatch", "10", "--epochs", "6", "--schedule", "polynomial",
                                             "--power", "1", "--minibatch-schedule", schedule});
      const RunPlan plan = make_plan(config, kSamples);
      const LearningRate rate = make_rate({}, config.learning, plan);
      Walk walk{kSamples, 10};
      double before = -1;
      for (int64_t step = 0; step <= plan.steps; ++step) {
        walk.grow_to(plan.minibatch_at(step));
        BOOST_TEST(plan.samples_in(step) == walk.drawn);
        BOOST_TEST(plan.epoch_begin(step) == walk.epoch_begin);
        BOOST_TEST(plan.ends_epoch(step) == (step > 0 && walk.position == 0));
        const double epochs = plan.epochs(step);
        BOOST_TEST(epochs > before);
        BOOST_TEST(std::floor(epochs) == walk.epoch);
        BOOST_TEST((epochs == std::floor(epochs)) == (walk.position == 0));
        BOOST_TEST(plan.steps_in(epochs) == step);
        BOOST_TEST(rate.at(step) == 0.1 * (1 - epochs / 6), boost::test_tools::tolerance(1e-12));
        const OrderRow first = order_of(plan, step).row(step, 1);
        BOOST_TEST(first.sample == Permutation(9, walk.epoch, kSamples)(walk.position + 1));
        BOOST_TEST(order_of(plan, step).epoch(step) == walk.epoch);
        before = epochs;
        if (step < plan.steps) walk.step();
      }
      BOOST_TEST(walk.epoch == 6);
    }
  }
}

// Epochs of the schedule are sums of shares of steps, which rounding leaves a hair short of a whole number here and
// there.
BOOST_AUTO_TEST_CASE(the_rate_drops_with_the_first_step_of_an_epoch) {
  for (const char* schedule : {"14st:x2", "25st:x3", "1ep:x2,20st:x3,0.41ks:x2"})
    for (const char* milestone : {"3", "4", "5"}) {
      const RunConfig config = grown_config({"--minibatch", "10", "--epochs", "6", "--schedule", "step", "--milestones",
                                             milestone, "--minibatch-schedule", schedule});
      const RunPlan plan = make_plan(config, 125);
      const LearningRate rate = make_rate({}, config.learning, plan);
      const int64_t drop = plan.steps_in(std::stod(milestone));
      BOOST_TEST(rate.at(drop - 1) == 0.1);
      BOOST_TEST(rate.at(drop) == 0.01, boost::test_tools::tolerance(1e-14));
    }
}

// The warmup by RMSprop goes by the epochs of the data, in which a step of a larger minibatch counts for more.
BOOST_AUTO_TEST_CASE(rules_that_follow_epochs_follow_them_over_a_growth) {
  const RunConfig config = grown_config({"--minibatch", "10", "--epochs", "16", "--optimizer", "rmsprop-warmup",
                                         "--schedule", "constant", "--minibatch-schedule", "2ep:x3"});
  const RunPlan plan = make_plan(config, 125);
  StepScalars scalars = make_scalars({}, config.learning, plan);
  const auto share = [&](double epochs) {
    return std::ranges::find(scalars.at(plan.steps_in(epochs)), "plain_share", &NamedScalar::name)->value;
  };
  const auto near = boost::test_tools::tolerance(1e-12);
  BOOST_TEST(share(1) == 0.5 * std::exp(2 * (1.0 - 10) / 5), near);
  BOOST_TEST(share(10) == 0.5, near);
  BOOST_TEST(share(11) == 0.7, near);
}

BOOST_AUTO_TEST_CASE(a_growth_begins_at_the_first_step_that_reaches_its_point) {
  const auto begin = [](const char* schedule) {
    const RunConfig config = grown_config({"--minibatch", "10", "--epochs", "6", "--minibatch-schedule", schedule});
    return make_plan(config, 125).grown.back().begin_step;
  };
  BOOST_TEST(begin("17st:x2") == 17);
  BOOST_TEST(begin("0.17ks:x2") == 17);
  BOOST_TEST(begin("0.161ks:x2") == 17);
  BOOST_TEST(begin("0.25ep:x2") == 3);
  BOOST_TEST(begin("0.26ep:x2") == 4);
  BOOST_TEST(begin("7st:x2,0.1ks:x2") == 9);  // seven steps of 10 samples and two of 20 are 110
}

BOOST_AUTO_TEST_CASE(the_derivation_says_where_a_growth_begins) {
  const RunConfig config =
      grown_config({"--minibatch", "10", "--epochs", "4", "--minibatch-schedule", "1ep:x2,15st:x3,17st:x2"});
  // Epoch 1 has 3 steps of 20 and one of 60. Epoch 2 has one of 60, after which no 120 samples are left.
  BOOST_TEST(make_plan(config, 125).derivation(config) ==
             "125 samples / 10 = 12 steps an epoch (5 left out, others each time); from epoch 1 on 125 / 20 = 6; from "
             "epoch 1.5 = step 15 on 125 / 60 = 2; from epoch 3 on 125 / 120 = 1; x 4 epochs = 18 steps");
}

BOOST_AUTO_TEST_CASE(a_growth_moves_the_rate_by_its_rule) {
  const auto rate_of = [](const char* schedule) {
    const RunConfig config =
        grown_config({"--minibatch", "10", "--epochs", "8", "--schedule", "cosine", "--minibatch-schedule", schedule});
    return make_rate({}, config.learning, make_plan(config, 125));
  };
  const LearningRate plain = rate_of("7st:x3,2ep:x4"), moved = rate_of("7st:x3:linear,2ep:x4:sqrt");
  const int64_t second = 7 + 1 + 4;  // the rest of the first epoch holds one minibatch of 30
  for (int64_t step = 0; step < plain.spec().total_steps; ++step)
    BOOST_TEST(moved.at(step) == plain.at(step) * (step < 7 ? 1 : step < second ? 3 : 6));
  BOOST_TEST(moved.description().ends_with(", times 3 from step 7 on, times 6 from step 12 on"), moved.description());
}

BOOST_AUTO_TEST_CASE(sequences_grow_from_pieces_of_a_sample) {
  const RunConfig config = grown_config({"--minibatch", "10", "--epochs", "8", "--schedule", "cosine",
                                         "--minibatch-schedule", "2ep:long2,3ep:x2,4ep:long3:rate0.5:again"});
  const RunPlan plan = make_plan(config, 100), plain = make_plan(grown_config({"--minibatch", "10"}), 100);
  BOOST_TEST(plan.phase(0).pieces == 6);
  BOOST_TEST(plan.phase(1).pieces == 3);
  BOOST_TEST(plan.phase(3).pieces == 1);
  BOOST_TEST(plan.phase(3).rate == 0.5);
  for (const auto& [phase, judging] : {std::pair{0, 0}, {1, 1}, {2, 1}, {3, 3}})
    BOOST_TEST(plan.judging_phase(static_cast<size_t>(phase)) == static_cast<size_t>(judging));
  BOOST_TEST(plan.steps == 30 + 5 + 20);
  const Order order = order_of(plan, 25), same = order_of(plain, 25);  // pieces are of the samples that a step has
  for (int64_t row = 0; row < 10; ++row) BOOST_TEST(order.row(25, row).sample == same.row(25, row).sample);
  const LearningRate rate = make_rate({}, config.learning, plan);
  BOOST_TEST(rate.at(35) == rate.at(0) / 2);
}

BOOST_AUTO_TEST_CASE(plans_that_do_not_work_are_refused) {
  const auto refused = [](std::vector<std::string> words, const char* why) {
    BOOST_CHECK_EXCEPTION(make_plan(grown_config(std::move(words)), 100), Error, test::says("batch.growths", why));
  };
  refused({"--minibatch", "10", "--minibatch-schedule", "1ep:x11"},
          "expected minibatches of at most the 100 training samples");
  refused({"--epochs", "3", "--minibatch-schedule", "3ep:x2"}, "expected growths before the end of the run");
  refused({"--epochs", "9", "--warmup", "gradual", "--warmup-epochs", "5", "--minibatch-schedule", "3ep:x2"},
          "expected growths after the warmup, which ends at epoch 5, got one at epoch 3");
  refused({"--minibatch", "10", "--epochs", "3", "--minibatch-schedule", "30st:x2"},
          "expected growths before the end of the run, after 3 epochs, got one at epoch 3");
  // The last 40 samples hold no minibatch of 50.
  refused({"--minibatch", "10", "--epochs", "3", "--minibatch-schedule", "26st:x5"},
          "expected growths before the end of the run, after 3 epochs, got one at epoch 3");
  refused({"--minibatch", "10", "--epochs", "9", "--warmup", "gradual", "--warmup-epochs", "5", "--minibatch-schedule",
           "13st:x2"},
          "expected growths after the warmup, which ends at epoch 5, got one at epoch 1.3");
  refused({"--minibatch", "10", "--epochs", "9", "--minibatch-schedule", "2ep:x2,12st:x2"},
          "expected growths in their order, got one at step 12 behind one at step 20");
  refused({"--epochs", "9", "--warmup", "gradual", "--minibatch-schedule", "2ep:warm2ep,3ep:x2"},
          "expected growths after the warmup, which ends at epoch 4, got one at epoch 3");
  refused({"--epochs", "9", "--warmup", "none", "--minibatch-schedule", "2ep:warm2ep"}, "expected no warmup beside");
}

BOOST_AUTO_TEST_CASE(the_rate_of_an_epoch_is_that_without_growth) {
  for (const char* schedule : {"constant", "cosine", "step"}) {
    std::vector<std::string> words = {"--minibatch", "10", "--epochs", "8", "--schedule", schedule};
    if (schedule == std::string("step")) words.insert(words.end(), {"--milestones", "3,6"});
    const RunConfig plain = grown_config(words);
    words.insert(words.end(), {"--minibatch-schedule", "2ep:x2,5ep:x5"});
    const RunConfig grown = grown_config(words);
    const RunPlan before = make_plan(plain, 100), after = make_plan(grown, 100);
    const LearningRate expected = make_rate({}, plain.learning, before), rate = make_rate({}, grown.learning, after);
    for (int64_t step = 0; step < after.steps; ++step)
      BOOST_TEST(rate.at(step) == expected.at(before.steps_in(after.epochs(step))),
                 boost::test_tools::tolerance(1e-12));
  }
}

BOOST_AUTO_TEST_CASE(it_takes_the_steps_of_a_run_that_goes_on_with_the_larger_minibatch) {
  // Adam's means correct themselves by the updates that they have gathered, which branches count as well.
  BOOST_REQUIRE(
      run(directory / "grown", {"--epochs", "4", "--optimizer", "adam", "--minibatch-schedule", "1ep:x2,3ep:x5"}) == 0);
  BOOST_REQUIRE(run(directory / "10", {"--epochs", "4", "--optimizer", "adam", "--keep", "9"}) == 0);
  const std::string small = (directory / "10").string() + "@1ep", middle = (directory / "20").string() + "@3ep";
  BOOST_REQUIRE(run(directory / "20", {"--branch", small, "--minibatch", "20", "--per-worker", "10"}) == 0);
  BOOST_REQUIRE(run(directory / "100", {"--branch", middle, "--minibatch", "100", "--per-worker", "10"}) == 0);
  BOOST_TEST(state_sha256(directory / "grown") == state_sha256(directory / "100"));
  const std::vector<Json> steps = of_kind(lines_of(directory / "grown"), "step");
  BOOST_REQUIRE(steps.size() == 10u + 10u + 1u);
  const std::vector<Json> first = of_kind(lines_of(directory / "10"), "step"),
                          second = of_kind(lines_of(directory / "20"), "step");
  for (size_t i = 0; i < 10; ++i) BOOST_TEST(steps[i].at("loss") == first.at(i).at("loss"));
  for (size_t i = 0; i < 10; ++i) BOOST_TEST(steps[10 + i].at("loss") == second.at(i).at("loss"));
  const Json manifest = Json::parse(test::read_file(directory / "grown" / "manifest.json"));
  BOOST_TEST(manifest.at("minibatch_phases").size() == 2u);
  BOOST_TEST(of_kind(lines_of(directory / "grown"), "eval").size() == 4u);
  BOOST_REQUIRE(run(directory / "stopped",
                    {"--branch", small, "--minibatch", "20", "--per-worker", "10", "--stop-at", "12st"}) == 0);
  BOOST_REQUIRE(run({"--resume", (directory / "stopped").string(), "--stop-at", "20st"}) == 0);
  BOOST_TEST(state_sha256(directory / "stopped") == state_sha256(directory / "20"));
}

BOOST_AUTO_TEST_CASE(a_branch_of_a_grown_run_counts_its_epochs) {
  const fs::path grown = directory / "grown";  // epochs of 10, 5, 5 and 1 steps
  BOOST_REQUIRE(run(grown, {"--epochs", "4", "--minibatch-schedule", "1ep:x2,3ep:x5", "--keep", "9", "--log-layers",
                            "1ep"}) == 0);
  std::vector<int64_t> logged;
  for (const Json& line : of_kind(lines_of(grown), "layers")) logged.push_back(line.at("step"));
  BOOST_TEST(logged == (std::vector<int64_t>{0, 10, 15, 20}));
  const auto begin_of = [&](const std::string& when, std::vector<std::string> words) {
    test::TemporaryDirectory own;
    words.insert(words.end(), {"--branch", grown.string() + "@" + when});
    BOOST_REQUIRE(run(own / "run", words) == 0);
    return of_kind(lines_of(own / "run"), "step").at(0).at("step").get<int64_t>();
  };
  BOOST_TEST(begin_of("3ep", {}) == 20);
  BOOST_TEST(begin_of("2ep", {}) == 15);
  BOOST_TEST(begin_of("20st", {"--minibatch-schedule", "1ep:x2"}) == 20);  // both schedules are alike up to step 20
  BOOST_TEST(begin_of("3ep", {"--minibatch-schedule", "2ep:x2"}) == 25);   // the epochs have 10, 10 and 5 steps
  BOOST_TEST(begin_of("3ep", {"--minibatch", "20", "--minibatch-schedule", "3ep:x5"}) == 15);
  BOOST_REQUIRE(run(directory / "plain", {"--epochs", "3", "--keep", "9"}) == 0);
  const std::string plain = (directory / "plain").string() + "@2ep";
  BOOST_REQUIRE(run(directory / "later", {"--branch", plain, "--minibatch-schedule", "1ep:x2"}) == 0);
  BOOST_TEST(of_kind(lines_of(directory / "later"), "step").at(0).at("step") == 15);
}

BOOST_AUTO_TEST_CASE(it_goes_on_after_a_stop_to_the_same_bits) {
  const std::vector<std::string> words = {
      "--epochs", "4", "--minibatch-schedule", "1ep:x2,3ep:x5", "--train-metrics", "--augment", "crop,flip",
      "--pad",    "1"};
  BOOST_REQUIRE(run(directory / "whole", words) == 0);
  for (const char* stop : {"4st", "10st", "13st", "20st"}) {
    std::vector<std::string> first = words;
    first.insert(first.end(), {"--stop-at", stop});
    BOOST_REQUIRE(run(directory / stop, first) == 0);
    BOOST_REQUIRE(run({"--resume", (directory / stop).string(), "--stop-at", "21st"}) == 0);
    BOOST_TEST(test::trace(directory / stop) == test::trace(directory / "whole"));
  }
}

// The epochs have 4 + 3, 5, 1 + 2 and 2 steps.
BOOST_AUTO_TEST_CASE(a_growth_within_an_epoch_goes_on_after_a_stop_to_the_same_bits) {
  const std::vector<std::string> words = {"--epochs",
                                          "4",
                                          "--schedule",
                                          "constant",
                                          "--minibatch-schedule",
                                          "4st:x2:sqrt,0.21ks:x2:linear",
                                          "--train-metrics",
                                          "--augment",
                                          "crop,flip",
                                          "--pad",
                                          "1",
                                          "--keep",
                                          "9"};
  const fs::path whole = directory / "whole";
  BOOST_REQUIRE(run(whole, words) == 0);
  const std::vector<Json> steps = of_kind(lines_of(whole), "step");
  BOOST_REQUIRE(steps.size() == 17u);
  const auto rate = [&](size_t step) { return steps.at(step).at("lr").get<double>(); };
  BOOST_TEST(rate(4) == rate(3) * std::sqrt(2.0), boost::test_tools::tolerance(1e-12));
  BOOST_TEST(rate(13) == rate(12) * 2, boost::test_tools::tolerance(1e-12));
  std::vector<int64_t> evaluated;
  for (const Json& line : of_kind(lines_of(whole), "eval")) evaluated.push_back(line.at("step"));
  BOOST_TEST(evaluated == (std::vector<int64_t>{7, 12, 15, 17}));
  for (const char* stop : {"3st", "4st", "5st", "7st", "13st", "14st"}) {
    std::vector<std::string> first = words;
    first.insert(first.end(), {"--stop-at", stop});
    BOOST_REQUIRE(run(directory / stop, first) == 0);
    BOOST_REQUIRE(run({"--resume", (directory / stop).string(), "--stop-at", "17st"}) == 0);
    BOOST_TEST(test::trace(directory / stop) == test::trace(whole));
  }
  BOOST_REQUIRE(run(directory / "branch", {"--branch", (directory / "5st").string() + "@5st"}) == 0);
  BOOST_TEST(state_sha256(directory / "branch") == state_sha256(whole));
}

BOOST_AUTO_TEST_CASE(steps_and_samples_that_are_whole_epochs_are_epochs) {
  BOOST_REQUIRE(run(directory / "ep", {"--epochs", "3", "--minibatch-schedule", "1ep:x2"}) == 0);
  for (const char* growth : {"10st:x2", "0.1ks:x2", "10st:x2:none"}) {
    BOOST_REQUIRE(run(directory / growth, {"--epochs", "3", "--minibatch-schedule", growth}) == 0);
    BOOST_TEST(state_sha256(directory / growth) == state_sha256(directory / "ep"));
  }
}

BOOST_AUTO_TEST_CASE(data_on_the_device_and_noise_work_too) {
  const std::vector<std::string> words = {"--epochs", "3", "--minibatch-schedule", "1ep:x2"};
  std::vector<std::string> on = words, noise = words, looks = words;
  on.insert(on.end(), {"--resident", "on"});
  noise.insert(noise.end(), {"--data", "synthetic"});
  looks.emplace_back("--check-finite");
  BOOST_REQUIRE(run(directory / "off", words) == 0);
  BOOST_REQUIRE(run(directory / "on", on) == 0);
  BOOST_REQUIRE(run(directory / "looks", looks) == 0);
  BOOST_TEST(test::trace(directory / "on") == test::trace(directory / "off"));
  BOOST_TEST(test::trace(directory / "looks") == test::trace(directory / "off"));
  BOOST_REQUIRE(run(directory / "noise", noise) == 0);
}

BOOST_AUTO_TEST_CASE(every_split_gives_the_same_bits) {
  using Unit = Period::Unit;
  TrainConfig config = config_of({.minibatch = 16, .epochs = 6, .optimizer = "momentum", .lr = 0.1});
  config.arithmetic.shards = 2;
  config.batch.per_worker = 4;
  const auto trained = [&](int processes, int64_t steps) {
    std::vector<Result> results(static_cast<size_t>(processes));
    test::on_ranks(processes, [&](int rank, Machine machine) {
      Observer silent;
      results[static_cast<size_t>(rank)] = train(ramps(), config, machine, silent);
    });
    BOOST_TEST(results.back().loop.steps == steps);
    return kb::state_sha256(views_of(results.back().state.tensors));
  };
  const auto check = [&](std::vector<Growth> growths, int64_t steps) {
    config.batch.growths = std::move(growths);
    const std::string one = trained(1, steps);
    BOOST_TEST(trained(2, steps) == one);
    BOOST_TEST(trained(4, steps) == one);
  };
  check({{{2}, 2}, {{4}, 2}}, 2 * 6 + 2 * 3 + 2 * 1);  // epochs of 6, 3 and 1 steps
  check({{{7, Unit::steps}, 2, "sqrt"}, {{0.2, Unit::kilosamples}, 2, "linear"}}, 6 + (1 + 2) + (1 + 1) + 3);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::growth_test
