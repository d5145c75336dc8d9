// A run with --target: which evaluation ends it, what its manifest says of that, and that it ends where it would
// however often it was stopped before.
#include "recipes/config/target_figure.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>

#include "recipes/config/flags.h"
#include "recipes/config/learning.h"
#include "recipes/config/run_task.h"
#include "recipes/config/values.h"
#include "recipes/train/declared_names.h"
#include "recipes/train/train.h"
#include "recipes/trials/run_reader.h"
#include "tests/recipes/small_run.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::target_test {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;
using test::lines_of, test::of_kind, test::state_sha256;

std::shared_ptr<const Source> points(int64_t count) {
  std::vector<float> x;
  for (int64_t i = 0; i < count; ++i) x.push_back(static_cast<float>(i + 1) / static_cast<float>(count));
  return std::make_shared<TableSource>(count, std::vector{field_bytes(x)});
}

// The task learns y = 3 x by gradient descent, in which every evaluation is better than the one before it.
Task line_task(const TaskRequest&) {
  const auto model = [](Inputs& in) -> ModelOutput {
    Tensor error = mean(abs(linear("fc", in["x"], 1, {.bias = false}) - in["x"] * 3.0), {1});
    return {error * error, {{"distance", error}, {"nearness", 3.0 - error, {.higher_is_better = true}}}};
  };
  return {.name = "line",
          .fields = {{.name = "x", .dtype = DType::f32, .shape = {1}, .in_memory = true}},
          .model = model,
          .train = points(90),
          .test = points(41)};
}

Recipe line_recipe() {
  Recipe recipe;
  recipe.name = "line";
  recipe.summary = "y = 3 x";
  recipe.defaults = {.minibatch = 7, .epochs = 6, .optimizer = "sgd", .lr = 0.01, .schedule = "constant"};
  recipe.task = line_task;
  return recipe;
}

struct TargetFixture {
  test::TemporaryDirectory directory;
  const std::filesystem::path whole = directory / "whole", out = directory / "run";

  int trained(const std::filesystem::path& folder, Words words) const {
    words.insert(words.end(), {"--validation", "20", "--eval-every", "4st", "--threads", "1"});
    return test::run(folder, words, line_recipe());
  }
  static Json manifest_of(const std::filesystem::path& folder) {
    return Json::parse(test::read_file(folder / "manifest.json"));
  }
  std::vector<Json> evaluations() const {
    if (!std::filesystem::exists(whole)) BOOST_REQUIRE(trained(whole, {}) == 0);
    return of_kind(lines_of(whole), "eval");
  }
  std::string goal(const std::string& metric, size_t evaluation) const {
    return fmt::format("{}={}", metric, evaluations().at(evaluation).at(metric).get<double>());
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(target, TargetFixture)

BOOST_AUTO_TEST_CASE(targets_are_read) {
  BOOST_TEST((parse_target("--target", "error=0.03") == TargetFigure{"error", 0.03}));
  BOOST_TEST((parse_target("--target", "error=3%") == TargetFigure{"error", 0.03}));
  BOOST_TEST((parse_target("--target", "loss=1e-2") == TargetFigure{"loss", 0.01}));
  BOOST_TEST(parse_target("--target", "error=8.5%").text() == "error=0.085");
  BOOST_TEST(parse_target("--target", "ema_error=3%").plain_metric() == "error");
  BOOST_TEST(!parse_target("--target", "error=3%").is_of_averages());
  for (const char* wrong : {"", "0.03", "error", "error=", "=0.03", "error=x", "error=3%%", "error=nan", "error=0.03 "})
    BOOST_CHECK_EXCEPTION(parse_target("--target", wrong), UsageError,
                          test::says("--target: expected a metric and its value, such as error=0.03", wrong));
}

BOOST_AUTO_TEST_CASE(a_figure_at_the_target_has_not_reached_it) {
  const TargetFigure target{"error", 0.03};
  BOOST_TEST(target.is_reached_by(0.0299, false));
  BOOST_TEST(!target.is_reached_by(0.03, false));
  BOOST_TEST(target.is_reached_by(0.0301, true));
  BOOST_TEST(!target.is_reached_by(0.03, true));
}

BOOST_AUTO_TEST_CASE(a_share_that_nothing_or_everything_is_better_than_is_refused) {
  const Recipe recipe = test::small_recipe();
  const auto check = [&](const char* target) {
    const RunConfig config = *parse_flags(recipe, "", {"--target", target});
    check_target(config, declared_task(recipe, config));
  };
  for (const char* wrong : {"error=0", "error=-1", "error=0%", "error=1.1"})
    BOOST_CHECK_EXCEPTION(check(wrong), Error,
                          test::says("length.target: expected a share that some training can be better than, and not "
                                     "every one, above 0 and up to 1, got error="));
  BOOST_CHECK_EXCEPTION(check("error=3"), Error, test::says("got error=3\n  hint:     error=3%"));
  for (const char* some : {"error=0.001", "error=100%", "loss=0", "loss=2"}) check(some);
  for (const double reached : {0.0, 0.99}) BOOST_TEST((TargetFigure{"accuracy", reached}).divides_shares(true));
  for (const double all_or_none : {-0.1, 1.0, 97.0})
    BOOST_TEST(!(TargetFigure{"accuracy", all_or_none}).divides_shares(true));
}

BOOST_AUTO_TEST_CASE(the_first_better_evaluation_ends_the_run) {
  for (const char* metric : {"distance", "nearness", "loss"}) {
    BOOST_TEST_CONTEXT(metric) {
      const std::filesystem::path folder = directory / metric;
      const std::vector<Json> all = evaluations();  // the run has 60 steps, evaluated after 4, 8, ...
      BOOST_REQUIRE(all.size() == 15u);
      BOOST_REQUIRE(trained(folder, {"--target", goal(metric, 4)}) == 0);
      const std::vector<Json> lines = lines_of(folder), own = of_kind(lines, "eval");
      BOOST_TEST(own.size() == 6u);
      BOOST_TEST(own.back().at("step") == 24);
      BOOST_TEST(own.back().at(metric) == all[5].at(metric));
      BOOST_TEST(of_kind(lines, "test").size() == 2u);  // the final state and the best one, once each
      BOOST_TEST(lines.back().at("steps") == 24);
      BOOST_TEST(lines.back().at("part") == "test");
      const Json manifest = manifest_of(folder), result = manifest.at("result");
      BOOST_TEST(manifest.at("ended").at("how") == "target");
      BOOST_TEST(result.at("target_step") == 24);
      BOOST_TEST(result.at("target_samples") == 24 * 7);
      BOOST_TEST(result.at("target_epochs") == 2.4);
      const RunReport report = read_run(folder);
      BOOST_TEST(report.is_done());
      BOOST_TEST(*report.target_step == 24);
      BOOST_TEST(report.target_samples == 168);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_target_that_is_not_reached_is_no_error) {
  BOOST_REQUIRE(trained(out, {"--target", "distance=0"}) == 0);
  const Json manifest = manifest_of(out);
  BOOST_TEST(manifest.at("ended").at("how") == "finished");
  BOOST_TEST(!manifest.at("result").contains("target_step"));
  BOOST_TEST(!read_run(out).target_step);
  BOOST_TEST(evaluations().size() == 15u);
  BOOST_TEST(state_sha256(out) == state_sha256(whole));
}

BOOST_AUTO_TEST_CASE(where_a_run_was_stopped_changes_nothing) {
  const std::string target = goal("distance", 4);
  BOOST_REQUIRE(trained(directory / "reached", {"--target", target}) == 0);
  // After 22 steps, when no evaluation is due, the figure is better than the target already.
  for (const char* stop : {"7st", "20st", "22st"}) {
    BOOST_REQUIRE(trained(out, {"--target", target, "--stop-at", stop}) == 0);
    BOOST_TEST(manifest_of(out).at("ended").at("how") == "--stop-at");
    BOOST_REQUIRE(test::run({"--resume", out.string(), "--stop-at", "60st"}, line_recipe()) == 0);
    BOOST_TEST(test::trace(out) == test::trace(directory / "reached"));
    BOOST_TEST(manifest_of(out).at("result") == manifest_of(directory / "reached").at("result"));
    std::filesystem::remove_all(out);
  }
}

BOOST_AUTO_TEST_CASE(a_run_that_reached_it_is_left_alone_and_goes_on_without_it) {
  BOOST_REQUIRE(trained(out, {"--target", goal("distance", 4)}) == 0);
  const std::string before = test::read_file(out / "manifest.json");
  BOOST_TEST(test::run({"--resume", out.string()}, line_recipe()) == 0);
  BOOST_TEST(test::read_file(out / "manifest.json") == before);
  BOOST_REQUIRE(test::run({"--resume", out.string(), "--target", goal("distance", 8)}, line_recipe()) == 0);
  BOOST_TEST(*read_run(out).target_step == 40);
  BOOST_REQUIRE(test::run({"--resume", out.string(), "--target", "none"}, line_recipe()) == 0);
  BOOST_TEST(read_run(out).how == "finished");
  BOOST_TEST(!read_run(out).target_step);
  BOOST_TEST(state_sha256(out) == state_sha256(whole));
}

BOOST_AUTO_TEST_CASE(the_averaged_parameters_may_reach_it) {
  const Words averages = {"--ema", "0.5", "--eval-ema"};
  BOOST_REQUIRE(trained(whole, averages) == 0);
  for (const char* metric : {"ema_distance", "ema_nearness", "ema_loss"}) {
    BOOST_TEST_CONTEXT(metric) {
      const std::filesystem::path folder = directory / metric;
      Words words = averages;
      words.insert(words.end(), {"--target", goal(metric, 4)});
      BOOST_REQUIRE(trained(folder, words) == 0);
      const std::vector<Json> own = of_kind(lines_of(folder), "eval");
      BOOST_TEST(own.back().at("step") == 24);
      BOOST_TEST(own.back().at(metric) == evaluations().at(5).at(metric));
      BOOST_TEST(own.back().at(metric) != own.back().at(std::string(metric).substr(4)));  // the averages lag behind
      BOOST_TEST(manifest_of(folder).at("ended").at("how") == "target");
      BOOST_TEST(manifest_of(folder).at("result").at("target_step") == 24);
      for (const char* stop : {"20st", "22st"}) {
        Words first = words;
        first.insert(first.end(), {"--stop-at", stop});
        BOOST_REQUIRE(trained(out, first) == 0);
        BOOST_REQUIRE(test::run({"--resume", out.string(), "--stop-at", "60st"}, line_recipe()) == 0);
        BOOST_TEST(test::trace(out) == test::trace(folder));
        BOOST_TEST(manifest_of(out).at("result") == manifest_of(folder).at("result"));
        std::filesystem::remove_all(out);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(averaged_parameters_that_are_not_evaluated_are_refused) {
  const Recipe recipe = line_recipe();
  const auto check = [&](const Words& words) {
    const RunConfig config = *parse_flags(recipe, "", words);
    check_target(config, declared_task(recipe, config));
  };
  BOOST_CHECK_EXCEPTION(check({"--target", "ema_loss=1.2"}), Error,
                        test::says("length.target = ema_loss=1.2: expected evaluations of the averaged parameters, got "
                                   "none\n  hint:     judging.eval_ema, and learning.ema"));
  check({"--target", "ema_loss=1.2", "--ema", "0.9", "--eval-ema"});
  BOOST_CHECK_EXCEPTION(check({"--target", "ema_distnace=1", "--ema", "0.9", "--eval-ema"}), Error,
                        test::says("distance, nearness, loss, ema_distance, ema_nearness, ema_loss; got "
                                   "'ema_distnace'; did you mean 'ema_distance'?"));
}

BOOST_AUTO_TEST_CASE(a_metric_that_the_model_has_not_is_named) {
  const Task task = line_task({});
  TrainConfig config = config_of({.minibatch = 8, .optimizer = "sgd", .lr = 0.5});
  config.length.target = {"distnace", 0.1};
  Observer silent;
  BOOST_CHECK_EXCEPTION(
      train(task, config, LocalMachine(1), silent), Error,
      test::says("length.target: expected a metric of the model: distance, nearness, loss; got 'distnace'",
                 "did you mean 'distance'?"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::target_test
