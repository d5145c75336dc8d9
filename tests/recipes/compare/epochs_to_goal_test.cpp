// Epochs to a goal, from run folders.
#include "recipes/compare/epochs_to_goal.h"

#include <boost/test/unit_test.hpp>

#include "graph/error.h"
#include "runtime/process.h"
#include "tests/recipes/small_run.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::epochs_to_goal_test {

namespace {

constexpr const char* kErrorKind = R"("is_share":true,"higher_is_better":false)";

// Writes the folder of a run with 4 steps an epoch, which has these errors after epochs 1, 2, ...
std::filesystem::path folder_of(const std::filesystem::path& path, const std::vector<double>& errors,
                                const std::string& recipe = "r", int64_t minibatch = 50, const std::string& flags = "",
                                const char* kind = kErrorKind) {
  std::filesystem::create_directories(path);
  test::write_file(path / "manifest.json",
                   "{\"recipe\":\"" + recipe +
                       "\",\"command\":\"c\",\"seed\":1,\"flags\":{\"minibatch\":" + std::to_string(minibatch) + flags +
                       "},\"steps_per_epoch\":4,\"goal\":{\"name\":\"error\"," + kind + "}}\n");
  std::string lines;
  for (size_t i = 0; i < errors.size(); ++i)
    lines += "{\"kind\":\"eval\",\"step\":" + std::to_string(4 * (i + 1)) + ",\"epoch\":" + std::to_string(i + 1) +
             ",\"loss\":1,\"error\":" + std::to_string(errors[i]) + "}\n";
  test::write_file(path / "metrics.jsonl", lines);
  return path;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(epochs_to_goal)

BOOST_AUTO_TEST_CASE(the_first_evaluation_that_reaches_it_counts) {
  const test::TemporaryDirectory directory;
  const EpochsToGoal run = kb::epochs_to_goal(folder_of(directory / "a", {0.5, 0.24, 0.1, 0.3}), {"error", 0.25});
  BOOST_TEST(run.recipe == "r");
  BOOST_TEST(run.minibatch == 50);
  BOOST_TEST(run.samples_per_epoch() == 200);
  BOOST_TEST(run.epochs.value() == 2);
  BOOST_TEST(!kb::epochs_to_goal(directory / "a", {"error", 0.05}).epochs);
}

BOOST_AUTO_TEST_CASE(the_goal_itself_reaches_it_by_mlperfs_rules_alone) {
  const test::TemporaryDirectory directory;
  const auto run = folder_of(directory / "a", {0.5, 0.25, 0.1});
  BOOST_TEST(kb::epochs_to_goal(run, {"error", 0.25}).epochs.value() == 3);
  BOOST_TEST(kb::epochs_to_goal(run, {"error", 0.25}, GoalBy::equal).epochs.value() == 2);
}

BOOST_AUTO_TEST_CASE(a_goal_is_of_the_metric_that_judges_the_run) {
  const test::TemporaryDirectory directory;
  const auto epochs = [&](const char* kind, double goal, GoalBy by = GoalBy::better) {
    return kb::epochs_to_goal(folder_of(directory / "a", {0.2, 0.5, 0.9, 3}, "r", 50, "", kind), {"error", goal}, by)
        .epochs;
  };
  const char* more = R"("is_share":true,"higher_is_better":true)";
  BOOST_TEST(epochs(more, 0.5).value() == 3);
  BOOST_TEST(epochs(more, 0.5, GoalBy::equal).value() == 2);
  BOOST_TEST(epochs(R"("is_share":false,"higher_is_better":true)", 2).value() == 4);
  BOOST_TEST(epochs(R"("is_share":false,"higher_is_better":false)", 0.3).value() == 1);
}

BOOST_AUTO_TEST_CASE(a_goal_is_a_target) {
  const test::TemporaryDirectory directory;
  const std::string run = folder_of(directory / "a", {0.5, 0.24, 0.1}).string();
  const auto told = [&](const char* goal) { return Process({KB_BIN "/compare", run, "--goal", goal}).wait().output; };
  for (const char* goal : {"error=0.241", "error=24.1%"})
    BOOST_TEST(test::contains(told(goal), "2 epochs, 400 samples\n"), told(goal));
  BOOST_TEST(test::contains(told("loss=1.5"), "1 of 1 runs reached a test loss of 1.5\n"));
  BOOST_TEST(test::contains(told("24.1"), "--goal: expected a metric and its value, such as error=0.03"));
  BOOST_TEST(test::contains(told("error=24.1"), "got error=24.1\n  hint:     error=24.1%"));
  BOOST_TEST(test::contains(told("top5=3%"), "--goal: expected a metric of these runs: loss, error; got 'top5'"));
}

BOOST_AUTO_TEST_CASE(the_program_names_what_a_goal_is_of) {
  const test::TemporaryDirectory directory;
  const auto run = folder_of(directory / "a", {200, 120}, "r", 50, "", R"("is_share":false,"higher_is_better":false)");
  const ProcessResult result = Process({KB_BIN "/compare", run.string(), "--goal", "error=150"}).wait();
  BOOST_TEST(result.status == 0, result.output);
  BOOST_TEST(test::contains(result.output, "1 of 1 runs reached a test error of 150\n"));
  BOOST_TEST(Process({KB_BIN "/compare", run.string()}).wait().status == 2);
  folder_of(directory / "a", {0.2});
  BOOST_TEST(Process({KB_BIN "/compare", run.string(), "--goal", "error=150"}).wait().status == 2);
}

BOOST_AUTO_TEST_CASE(samples_are_those_of_each_run) {
  const test::TemporaryDirectory directory;
  const auto a = folder_of(directory / "a", {0.1}), b = folder_of(directory / "b", {0.1});
  std::string manifest = test::read_file(b / "manifest.json");
  manifest.replace(manifest.find("epoch\":4"), 8, "epoch\":8");
  test::write_file(b / "manifest.json", manifest);
  const ProcessResult result = Process({KB_BIN "/compare", a.string(), b.string(), "--goal", "error=20%"}).wait();
  BOOST_TEST(test::contains(result.output, "1 epochs, 200 samples\n"));
  BOOST_TEST(test::contains(result.output, "1 epochs, 400 samples\n"));
  BOOST_TEST(test::contains(result.output, "samples: mean 300\n"));
}

BOOST_AUTO_TEST_CASE(runs_that_miss_the_goal_are_told_beside_the_mean) {
  const test::TemporaryDirectory directory;
  const auto a = folder_of(directory / "a", {0.1}), b = folder_of(directory / "b", {0.5});
  const ProcessResult result = Process({KB_BIN "/compare", a.string(), b.string(), "--goal", "error=20%"}).wait();
  BOOST_TEST(
      test::contains(result.output, "NOTE: 1 run did not reach it and is left out of the mean, which is too low\n"));
  const std::string all = Process({KB_BIN "/compare", a.string(), "--goal", "error=20%"}).wait().output;
  BOOST_TEST(!test::contains(all, "left out"), all);
}

BOOST_AUTO_TEST_CASE(what_is_pooled_is_told) {
  const test::TemporaryDirectory directory;
  const auto run = [&](const char* name, const std::string& flags) {
    return kb::epochs_to_goal(folder_of(directory / name, {0.1}, "r", 50, "," + flags), {"error", 0.25});
  };
  std::vector<EpochsToGoal> runs = {run("a", R"("lr":0.1,"seed":1,"threads":1)"),
                                    run("b", R"("lr":0.1,"seed":2,"threads":2)")};
  BOOST_TEST(pooled_notes(runs).empty());
  runs.push_back(run("c", R"("lr":0.4,"seed":1,"threads":1)"));
  BOOST_TEST(pooled_notes(runs) ==
             std::vector<std::string>{
                 "the runs differ in more than seeds, and the mean is over all of them: --lr (0.1, 0.4)"});
  runs = {run("a", R"("lr":0.1,"seed":1)"), run("b", R"("lr":0.1,"seed":1)")};
  BOOST_TEST(pooled_notes(runs).at(0).ends_with("b are one training, and count twice: all of their flags are equal"));
}

BOOST_AUTO_TEST_CASE(a_run_of_ours_is_read) {
  const test::TemporaryDirectory directory;
  BOOST_REQUIRE(test::run(directory / "run", {}) == 0);
  const EpochsToGoal run = kb::epochs_to_goal(directory / "run", {"error", 1});
  BOOST_TEST(run.recipe == "small");
  BOOST_TEST(run.epochs.value() == 1);
  BOOST_TEST(run.samples_per_epoch() == 100);
}

BOOST_AUTO_TEST_CASE(runs_of_two_kinds_are_refused) {
  const test::TemporaryDirectory directory;
  const std::vector<EpochsToGoal> recipes = {
      kb::epochs_to_goal(folder_of(directory / "a", {0.1}), {"error", 0.1}),
      kb::epochs_to_goal(folder_of(directory / "b", {0.1}, "other"), {"error", 0.1})};
  BOOST_CHECK_EXCEPTION(check_comparable(recipes), Error, test::says("one recipe, one minibatch", "other, kn 50"));
  const std::vector<EpochsToGoal> sizes = {
      recipes[0], kb::epochs_to_goal(folder_of(directory / "c", {0.1}, "r", 60), {"error", 0.1})};
  BOOST_CHECK_THROW(check_comparable(sizes), Error);
  std::vector<EpochsToGoal> parts = {recipes[0], recipes[0]};
  parts[1].part = "valid";
  BOOST_CHECK_EXCEPTION(check_comparable(parts), Error, test::says("kn 50, test error", "kn 50, valid error"));
  BOOST_CHECK_NO_THROW(check_comparable(std::span(recipes).first(1)));
  BOOST_CHECK_THROW(kb::epochs_to_goal(directory / "absent", {"error", 0.1}), Error);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::epochs_to_goal_test
