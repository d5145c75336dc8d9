// --scaling adascale in a run: its rates follow from the norms that it logs, on any split, and after any stop.
#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <csignal>
#include <numbers>
#include <random>
#include <thread>

#include "graph/functions.h"
#include "recipes/config/flags.h"
#include "recipes/config/learning.h"
#include "recipes/config/run_plan.h"
#include "recipes/run/branch.h"
#include "recipes/run/mlperf_log.h"
#include "recipes/run/schedule_text.h"
#include "recipes/sweep/sweep_trials.h"
#include "recipes/train/train.h"
#include "runtime/process.h"
#include "tests/recipes/ranks.h"
#include "tests/recipes/small_run.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::adascale_run_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using test::lines_of, test::of_kind, test::run, test::small_recipe, test::state_sha256, test::trace;

constexpr double kBase = 5, kScale = 4, kWorkers = 4, kIterations = 40, kBaseRate = 0.1;

// A minibatch of 20 samples, on 4 workers, has a base minibatch of 5: 2 epochs are 40 scale-invariant iterations, which
// take 10 to 40 steps, and an epoch has 5 steps.
std::vector<std::string> with_adascale(std::vector<std::string> words = {}) {
  words.insert(words.end(), {"--minibatch", "20", "--per-worker", "5", "--scaling", "adascale", "--base-lr", "0.1",
                             "--base-minibatch", "5", "--threads", "1", "--shards", "2"});
  return words;
}

std::string saved_name(int64_t step) { return fmt::format("step-{:08}.safetensors", step); }

struct AdaScaleFixture {
  test::TemporaryDirectory directory;
  const fs::path whole = directory / "whole", out = directory / "run";

  // Trains into `whole` with a checkpoint after each step.
  void train(const std::vector<std::string>& words = {}) const {
    std::vector<std::string> all = with_adascale(words);
    all.insert(all.end(), {"--save-every", "1", "--keep", "100"});
    BOOST_REQUIRE(run(whole, all) == 0);
  }
  int64_t steps() const { return std::ssize(of_kind(lines_of(whole), "step")); }
  // Leaves the folder as if the process had died after the save of `step`: with lines of later steps and a torn one.
  void die_after(int64_t step) const {
    fs::remove_all(out);
    fs::copy(whole, out, fs::copy_options::recursive);
    for (const fs::path& path : list_checkpoints(out / "checkpoints"))
      if (path.filename() > saved_name(step)) fs::remove(path);
    const std::string text = test::read_file(out / "metrics.jsonl");
    test::write_file(out / "metrics.jsonl", text.substr(0, text.size() - 20));
  }
};

// Returns the gain of step `step` from its definition, by sums over the steps from 0 to `step` - 2.
double gain_by_definition(const std::vector<Json>& steps, size_t step) {
  const double theta = 1 - kScale / 1000;
  double variance = 0, square = 0, weight = 0;
  for (size_t i = 0; i + 1 < step; ++i) {
    const double total = steps[i].at("gradient2"), worker = steps[i].at("worker_gradient2");
    const double own_variance = (worker - total) * kScale / (kWorkers - 1);
    const double age = std::pow(theta, static_cast<double>(step - 2 - i));
    variance += age * std::max(own_variance, 1e-6);
    square += age * std::max(total - own_variance / kScale, 0.0);
    weight += age;
  }
  if (weight == 0) return 1;
  return (variance / weight + square / weight) / (variance / weight / kScale + square / weight);
}

// Loss |w - x|^2 / 2 at w = 1 in 8 dimensions, of points x around 0: a sample's gradient is w - x.
struct Points {
  static inline double sigma = 0;
  static Task task(const TaskRequest&) {
    constexpr int64_t kRows = 4096, kDims = 8;
    std::mt19937_64 random(5);
    std::normal_distribution<double> normal(0, 1);
    std::vector<float> points(static_cast<size_t>(kRows * kDims));
    for (float& x : points) x = static_cast<float>(sigma * normal(random));
    const auto source = std::make_shared<TableSource>(kRows, std::vector{field_bytes(points)});
    const auto model = [](Inputs& in) -> ModelOutput {
      const Tensor w = parameter(in.graph(), "w", Role::bias, {in.real(), {kDims}, ""}, {InitKind::constant, 1, 0});
      const Tensor apart = broadcast_to(w, in["x"].shape()) - in["x"];
      return {sum(apart * apart, {1}) * 0.5, {}};
    };
    return {.name = "points",
            .fields = {{.name = "x", .dtype = DType::f32, .shape = {kDims}, .in_memory = true}},
            .model = model,
            .train = source,
            .test = source};
  }
  // Trains with a minibatch of 8 workers x 4 samples at a rate so low that the parameters stay. Returns the lines of
  // its metrics.
  static std::vector<Json> lines(const fs::path& out, double of_sigma) {
    sigma = of_sigma;
    Recipe recipe;
    recipe.name = "points";
    recipe.summary = "known noise";
    recipe.defaults = {.minibatch = 32, .epochs = 1, .optimizer = "sgd", .lr = 1e-9, .base_minibatch = 4};
    recipe.task = task;
    BOOST_REQUIRE(run(out, {"--scaling", "adascale", "--per-worker", "4", "--data", "none", "--keep-going"}, recipe) ==
                  0);
    return lines_of(out);
  }
};

// `words` replace those of with_adascale().
RunConfig parsed(const std::vector<std::string>& words) {
  const RunConfig base = *parse_flags(small_recipe(), "small", with_adascale());
  return *parse_flags(small_recipe(), "small", words, {}, &base);
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(adascale_run, AdaScaleFixture)

BOOST_AUTO_TEST_CASE(rates_follow_from_the_logged_norms) {
  BOOST_REQUIRE(run(out, with_adascale()) == 0);
  const std::vector<Json> lines = lines_of(out), steps = of_kind(lines, "step");
  double iterations = 0;
  for (size_t step = 0; step < steps.size(); ++step) {
    BOOST_TEST(iterations < kIterations);
    const double gain = gain_by_definition(steps, step);
    const double shape = 0.5 * (1 + std::cos(std::numbers::pi * std::floor(iterations) / kIterations));
    const auto close = boost::test_tools::tolerance(1e-9);
    BOOST_TEST(steps[step].at("gain").get<double>() == gain, close);
    BOOST_TEST(steps[step].at("scale_invariant_iterations").get<double>() == iterations, close);
    BOOST_TEST(steps[step].at("lr").get<double>() == gain * kBaseRate * shape, close);
    BOOST_TEST((gain >= 1 && gain <= kScale));
    iterations += gain;
  }
  BOOST_TEST(iterations >= kIterations);
  BOOST_TEST(steps.size() > kIterations / kScale);
  BOOST_TEST(steps.size() < kIterations);
  BOOST_TEST(steps.back().at("gain") > 1.0);
}

// The run evaluates its last state, as any run does at its end.
BOOST_AUTO_TEST_CASE(it_ends_with_its_iterations) {
  BOOST_REQUIRE(run(out, with_adascale({"--eval-every", "0"})) == 0);
  const std::vector<Json> lines = lines_of(out), evaluations = of_kind(lines, "eval");
  const auto steps = std::ssize(of_kind(lines, "step"));
  BOOST_REQUIRE(evaluations.size() == 1u);
  BOOST_TEST(evaluations[0].at("step") == steps);
  BOOST_TEST(evaluations[0].at("gain") == of_kind(lines, "step").back().at("gain"));
  BOOST_TEST(lines.back().at("steps") == steps);
  const Json manifest = Json::parse(test::read_file(out / "manifest.json"));
  BOOST_TEST(manifest.at("steps") == kIterations);
  BOOST_TEST(manifest.at("ended").at("how") == "finished");
  BOOST_TEST(manifest.at("ended").at("step") == steps);
  BOOST_TEST(manifest.at("result").at("best").at("step") == steps);
  BOOST_TEST(run({"--resume", out.string()}) == 0);
  BOOST_TEST((Json::parse(test::read_file(out / "manifest.json")) == manifest));
}

BOOST_AUTO_TEST_CASE(known_noise_has_the_gain_of_its_noise_scale) {
  // |G|^2 is 8 and tr(Sigma) 8 x 4, so that the noise scale is 4 samples.
  const std::vector<Json> lines = Points::lines(out, 2);
  const double expected = (1 + 4.0 / 4) / (1 + 4.0 / 32);
  const Json last = of_kind(lines, "step").back();
  BOOST_TEST(last.at("gain").get<double>() == expected, boost::test_tools::tolerance(0.05));
  const double noise_scale = of_kind(lines, "eval").back().at("noise_scale");
  BOOST_TEST(last.at("gain").get<double>() == (1 + noise_scale / 4) / (1 + noise_scale / 32),
             boost::test_tools::tolerance(0.05));
  BOOST_TEST(static_cast<double>(of_kind(lines, "step").size()) == 1024 / expected, boost::test_tools::tolerance(0.05));
}

BOOST_AUTO_TEST_CASE(samples_alike_take_the_steps_of_the_base) {
  const std::vector<Json> steps = of_kind(Points::lines(out, 0), "step");
  BOOST_TEST(steps.size() >= 1023u);
  BOOST_TEST(steps.back().at("gain").get<double>() == 1, boost::test_tools::tolerance(1e-4));
}

BOOST_AUTO_TEST_CASE(noise_alone_takes_about_the_fewest_steps) {
  const std::vector<Json> steps = of_kind(Points::lines(out, 1000), "step");
  BOOST_TEST(steps.size() >= 1024 / 8);
  BOOST_TEST(steps.size() < 2 * 1024 / 8);
}

// The rates change from step to step; the momentum correction makes both forms of momentum equal then (Goyal et al.
// 2017, remark 2).
BOOST_AUTO_TEST_CASE(momentum_is_corrected_for_the_gains) {
  BOOST_REQUIRE(run(whole, with_adascale({"--optimizer", "momentum"})) == 0);
  BOOST_REQUIRE(run(out, with_adascale({"--optimizer", "scaled-momentum"})) == 0);
  const std::vector<Json> plain = of_kind(lines_of(whole), "step"), scaled = of_kind(lines_of(out), "step");
  BOOST_REQUIRE(plain.size() == scaled.size());
  for (size_t i = 0; i < plain.size(); ++i)
    BOOST_TEST(plain[i].at("loss").get<double>() == scaled[i].at("loss").get<double>(),
               boost::test_tools::tolerance(1e-3));
}

BOOST_AUTO_TEST_CASE(after_any_step_to_the_same_bits) {
  train({"--optimizer", "scaled-momentum"});
  for (int64_t step = 0; step < steps(); ++step) {
    die_after(step);
    BOOST_REQUIRE(run({"--resume", out.string()}) == 0);
    if (trace(out) != trace(whole)) BOOST_ERROR("resumed after step " << step << ":\n" << trace(out));
    BOOST_TEST(state_sha256(out) == state_sha256(whole));
    for (const fs::path& path : list_checkpoints(out / "checkpoints"))
      BOOST_TEST(test::read_file(path) == test::read_file(whole / "checkpoints" / path.filename()), path);
  }
}

// The run died after its last save and before the lines that it writes at its end.
BOOST_AUTO_TEST_CASE(a_run_that_died_at_its_end_ends_again) {
  train({"--eval-every", "0"});
  die_after(steps());
  BOOST_REQUIRE(run({"--resume", out.string()}) == 0);
  BOOST_TEST(trace(out) == trace(whole));
}

// The checkpoint has the place in the schedule, so that the metrics are not needed.
BOOST_AUTO_TEST_CASE(without_its_metrics_it_goes_on_to_the_same_state) {
  train();
  die_after(7);
  fs::remove(out / "metrics.jsonl");
  BOOST_REQUIRE(run({"--resume", out.string()}) == 0);
  BOOST_TEST(state_sha256(out) == state_sha256(whole));
}

BOOST_AUTO_TEST_CASE(stopped_and_resumed) {
  train();
  for (const char* stop : {"1st", "2st", "6st"}) {
    fs::remove_all(out);
    BOOST_REQUIRE(run(out, with_adascale({"--stop-at", stop, "--save-every", "1", "--keep", "100"})) == 0);
    BOOST_TEST(Json::parse(test::read_file(out / "manifest.json")).at("ended").at("how") == "--stop-at");
    BOOST_REQUIRE(run({"--resume", out.string(), "--stop-at", "40st"}) == 0);
    BOOST_TEST(trace(out) == trace(whole));
  }
}

BOOST_AUTO_TEST_CASE(more_epochs_where_the_steps_would_have_been_the_same) {
  const fs::path longer = directory / "longer";
  BOOST_REQUIRE(run(longer, with_adascale({"--schedule", "constant", "--epochs", "3", "--eval-every", "0"})) == 0);
  BOOST_REQUIRE(run(out, with_adascale({"--schedule", "constant", "--eval-every", "0"})) == 0);
  BOOST_REQUIRE(run({"--resume", out.string(), "--epochs", "3"}) == 0);
  BOOST_TEST(state_sha256(out) == state_sha256(longer));
  train();
  BOOST_TEST(run({"--resume", whole.string(), "--epochs", "3"}) == 1);  // its cosine would have fallen more slowly
}

BOOST_AUTO_TEST_CASE(a_branch_takes_the_same_steps) {
  train();
  BOOST_REQUIRE(run(out, {"--branch", whole.string() + "@6st"}) == 0);
  BOOST_TEST(state_sha256(out) == state_sha256(whole));
  const auto branch = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--branch", whole.string() + "@6st"});
    return parse_with_origin(small_recipe(), "small", words);
  };
  const std::string has = "expected: --scaling adascale --base-minibatch 5 --minibatch 20, as the run has";
  BOOST_CHECK_EXCEPTION(branch({"--scaling", "linear"}), UsageError,
                        test::says("--branch: AdaScale goes on", has, "got:      another --scaling"));
  BOOST_CHECK_EXCEPTION(branch({"--base-minibatch", "10"}), UsageError,
                        test::says(has, "got:      --scaling adascale --base-minibatch 10 --minibatch 20"));
  BOOST_CHECK_NO_THROW(branch({"--seed", "4"}));
}

// Trains by the function train() on one, two and four ranks, and goes on on four after a stop on two.
BOOST_AUTO_TEST_CASE(every_split_gives_the_same_bits) {
  Points::sigma = 2;
  TrainConfig config = config_of({.minibatch = 32, .schedule = "cosine"});
  config.learning.optimizer = "momentum";
  config.learning.lr = 0.01;
  config.learning.base_minibatch = 4;
  config.learning.scaling = "adascale";
  config.length.steps = 60;
  config.arithmetic.shards = 2;
  config.batch.per_worker = 8;
  const auto on = [&](int ranks, const TrainingState* from = nullptr, int64_t stop = 0) {
    TrainConfig own = config;
    if (stop > 0) own.length.stop_at.duration = Period{static_cast<double>(stop), Period::Unit::steps};
    std::vector<TrainingState> states(static_cast<size_t>(ranks));
    test::on_ranks(ranks, [&](int rank, Machine machine) {
      Observer silent;
      states[static_cast<size_t>(rank)] = kb::train(Points::task({}), own, machine, silent, from).state;
    });
    return states[0];
  };
  const auto hash = [](const TrainingState& state) { return state_sha256(views_of(state.tensors)); };
  const TrainingState alone = on(1);
  BOOST_TEST(alone.step < 60);
  for (const int ranks : {2, 4}) {
    const TrainingState shared = on(ranks);
    BOOST_TEST(shared.step == alone.step);
    BOOST_TEST(shared.schedule == alone.schedule);
    BOOST_TEST(hash(shared) == hash(alone));
  }
  TrainingState middle = on(2, nullptr, 9);
  BOOST_TEST(middle.step == 9);
  BOOST_TEST(hash(on(4, &middle)) == hash(alone));
  middle.schedule.clear();
  Observer silent;
  LocalMachine machine(1);
  BOOST_CHECK_EXCEPTION(
      kb::train(Points::task({}), config, machine, silent, &middle), Error,
      test::says("learning.scaling: expected a state with AdaScale's place in its schedule, got one without "
                 "it at step 9"));
}

BOOST_AUTO_TEST_CASE(killed_at_random_moments) {
  const auto words = [&](const fs::path& folder) {
    return std::vector<std::string>{
        KB_BIN "/mlp_mnist", "--quiet",  "--dataset", "synthetic",     "--minibatch",      "64",  "--per-worker", "16",
        "--scaling",         "adascale", "--base-lr", "0.05",          "--base-minibatch", "16",  "--steps",      "300",
        "--save-every",      "7",        "--out",     folder.string(), "--resume",         "auto"};
  };
  const auto start = std::chrono::steady_clock::now();
  const ProcessResult undisturbed = Process(words(whole)).wait();
  BOOST_REQUIRE_MESSAGE(undisturbed.status == 0, undisturbed.output);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const uint32_t seed = std::random_device()();
  std::mt19937 random(seed);
  int kills = 0;
  for (int attempt = 0; attempt < 5; ++attempt) {
    Process process(words(out));
    std::this_thread::sleep_for(seconds * (0.2 + 0.6 * random() / std::mt19937::max()));
    process.signal(SIGKILL);
    kills += process.wait().status == 128 + SIGKILL;
  }
  const ProcessResult rest = Process(words(out)).wait();
  BOOST_REQUIRE_MESSAGE(rest.status == 0, rest.output);
  BOOST_TEST(state_sha256(out) == state_sha256(whole), "seed " << seed);
  BOOST_TEST(trace(out) == trace(whole), "seed " << seed);
  fmt::print("{} kills\n", kills);
}

BOOST_AUTO_TEST_CASE(what_it_cannot_be_given_is_told) {
  const auto plan_of = [](const RunConfig& config) { return make_plan(config, 100); };
  BOOST_CHECK_EXCEPTION(
      plan_of(parsed({"--per-worker", "20"})), Error,
      test::says("learning.scaling = adascale: expected two workers or more, whose gradients it compares, got "
                 "one of 20 samples\n  hint:     batch.per_worker = 10"));
  BOOST_CHECK_EXCEPTION(
      plan_of(parsed({"--base-minibatch", "25"})), Error,
      test::says("learning.scaling = adascale: expected batch.minibatch to be at least learning.base_minibatch, 25, "
                 "got 20"));
  BOOST_CHECK_EXCEPTION(plan_of(parsed({"--minibatch-schedule", "1ep:x2"})), Error,
                        test::says("batch.growths: expected none beside learning.scaling = adascale", "got 1ep:x2"));
  BOOST_CHECK_EXCEPTION(parse_flags(small_recipe(), "small", {"--scaling", "adascale", "--lr", "0.1"}), UsageError,
                        test::says("--scaling: it has no effect here", "--base-minibatch B"));
  BOOST_CHECK_EXCEPTION(check_mlperf_file(parsed({"--mllog", "-"}), false), Error,
                        test::says("--mllog: MLPerf's log has no key for AdaScale's gains"));
  const SweepFlags sweep{.grid = "minibatch=20:40:x2", .search = {"lr=0.01:1"}};
  BOOST_CHECK_EXCEPTION(define_sweep(small_recipe(), sweep,
                                     {"--target", "error=0.5", "--per-worker", "5", "--scaling", "adascale",
                                      "--base-lr", "0.1", "--base-minibatch", "5", "--validation", "20"},
                                     1),
                        UsageError, test::says("--search lr: ", "hint:     --search base-lr"));
}

BOOST_AUTO_TEST_CASE(the_plan_says_how_long_it_may_be) {
  const RunConfig config = parsed({"--warmup-epochs", "1"});
  const RunPlan plan = make_plan(config, 100);
  BOOST_TEST(plan.steps == 40);
  BOOST_TEST(least_steps(config.learning, plan) == 10);
  BOOST_TEST(plan.derivation(config) ==
             "100 samples / 20 = 5 steps an epoch; AdaScale: 2 epochs x 20 steps of 5 = 40 scale-invariant iterations, "
             "in 10 to 40 steps");
  BOOST_TEST(
      rate_derivation({}, config.learning, plan) ==
      "lr 0.1 x the gain of the step, 1 to 4 = 20/5, in steps of 5, no warmup (AdaScale needs none), cosine over "
      "40 steps");
  BOOST_TEST(
      make_plan(parsed({"--steps", "30"}), 100).derivation(parsed({"--steps", "30"})) ==
      "100 samples / 20 = 5 steps an epoch; AdaScale: length.steps = 30 of 5 = 30 scale-invariant iterations, in 8 to "
      "30 steps");
}

// The schedule has the rates of the base minibatch without gains, at 20 steps an epoch.
BOOST_AUTO_TEST_CASE(the_schedule_is_that_of_the_base_minibatch) {
  const RunConfig config = parsed({"--warmup-from", "0", "--warmup-epochs", "1"});
  const RunPlan plan = schedule_plan(config.learning, make_plan(config, 100));
  BOOST_TEST(plan.epochs(40) == 2);
  const LearningRate rate = make_rate({}, config.learning, plan);
  BOOST_TEST(rate.at(10) == 0.05);
  BOOST_TEST(rate.at(20) == 0.1);
  RunConfig base = config;
  base.learning.scaling = "none";
  base.batch.minibatch = 5;
  BOOST_TEST(schedule_text(small_recipe(), config, plan) == schedule_text(small_recipe(), base, make_plan(base, 100)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::adascale_run_test
