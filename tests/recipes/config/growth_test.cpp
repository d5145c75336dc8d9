// The minibatch that grows in the course of a run.
#include "recipes/config/growth.h"
#include "recipes/config/run_plan.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

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

struct GrowthFixture {
  test::TemporaryDirectory directory;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(growth, GrowthFixture)

BOOST_AUTO_TEST_CASE(growths_are_words_and_back) {
  BOOST_TEST((parse_growths("--f", "30ep:x5,60ep:x2") == std::vector<Growth>{{30, 5}, {60, 2}}));
  BOOST_TEST(growths_text({{30, 5}, {60, 2}}) == "30ep:x5,60ep:x2");
  BOOST_TEST(parse_growths("--f", "").empty());
  for (const char* wrong : {"30", "30ep", "30ep:5", "30ep:x1", "30ep:x0", "0ep:x2", "1.5ep:x2", "3ep:x2.5", "-3ep:x2",
                            "30st:x2", "30ep:x5,20ep:x2", "30ep:x5,30ep:x2", "30ep:x5,", "99999999999999999999ep:x2"})
    BOOST_CHECK_EXCEPTION(parse_growths("--minibatch-schedule", wrong), Error,
                          test::says("--minibatch-schedule", "30ep:x5,60ep:x5", wrong));
}

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

BOOST_AUTO_TEST_CASE(plans_that_do_not_work_are_refused) {
  const auto refused = [](std::vector<std::string> words, const char* why) {
    BOOST_CHECK_EXCEPTION(make_plan(grown_config(std::move(words)), 100), Error, test::says("batch.growths", why));
  };
  refused({"--minibatch", "10", "--minibatch-schedule", "1ep:x11"},
          "expected minibatches of at most the 100 training samples");
  refused({"--epochs", "3", "--minibatch-schedule", "3ep:x2"}, "expected growths before the end of the run");
  refused({"--epochs", "9", "--warmup", "gradual", "--warmup-epochs", "5", "--minibatch-schedule", "3ep:x2"},
          "expected growths after the warmup, of 5 epochs, got one at epoch 3");
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
  BOOST_REQUIRE(run(directory / "grown", {"--epochs", "4", "--minibatch-schedule", "1ep:x2,3ep:x5"}) == 0);
  BOOST_REQUIRE(run(directory / "10", {"--epochs", "4", "--keep", "9"}) == 0);
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
  TrainConfig config = config_of({.minibatch = 16, .epochs = 6, .optimizer = "momentum", .lr = 0.1});
  config.arithmetic.shards = 2;
  config.batch.per_worker = 4;
  config.batch.growths = {{2, 2}, {4, 2}};
  const auto trained = [&](int processes) {
    std::vector<Result> results(static_cast<size_t>(processes));
    test::on_ranks(processes, [&](int rank, Machine machine) {
      Observer silent;
      results[static_cast<size_t>(rank)] = train(ramps(), config, machine, silent);
    });
    BOOST_TEST(results.back().loop.steps == 2 * 6 + 2 * 3 + 2 * 1);  // epochs of 6, 3 and 1 steps
    return kb::state_sha256(views_of(results.back().state.tensors));
  };
  const std::string one = trained(1);
  BOOST_TEST(trained(2) == one);
  BOOST_TEST(trained(4) == one);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::growth_test
