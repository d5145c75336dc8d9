// Branches of runs whose manifests are written here: their flags, and the runs that cannot have them.
#include "recipes/answer/branches_plan.h"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "recipes/config/values.h"
#include "recipes/run/branch.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::branches_plan_test {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

// Writes the folder of a run of mlp_mnist with 800 training samples: a manifest, and names of checkpoints.
struct PlanFixture {
  test::TemporaryDirectory directory;
  const fs::path run = directory / "run";

  void write(Words words, const std::vector<int64_t>& kept, const std::string& recipe = "mlp_mnist") const {
    fs::create_directories(run / "checkpoints");
    words.insert(words.begin(), {"--minibatch", "8", "--per-worker", "4", "--schedule", "constant"});
    const nlohmann::json manifest = {
        {"recipe", recipe}, {"arguments", words}, {"data", {{"train", 800}}}, {"steps_per_epoch", 100}};
    test::write_file(run / "manifest.json", manifest.dump());
    for (const int64_t step : kept) {
      const std::string digits = std::to_string(step);
      test::write_file(run / "checkpoints" / ("step-" + std::string(8 - digits.size(), '0') + digits + ".safetensors"),
                       "");
    }
  }

  BranchesRequest asked(const std::string& places, int64_t window = 16, std::vector<int64_t> factors = {2}) const {
    BranchesRequest request;
    read_places("--branches", run.string() + "@" + places, request);
    request.window = {static_cast<double>(window), Period::Unit::steps};
    request.factors = std::move(factors);
    return request;
  }

  void refused(const BranchesRequest& request, const Words& parts) const {
    BOOST_CHECK_EXCEPTION(plan_branches(request), Error, [&](const Error& error) {
      BOOST_TEST_MESSAGE(error.what());
      for (const std::string& part : parts) BOOST_TEST(test::contains(std::string(error.what()), part));
      return true;
    });
  }
};

std::string value_after(const Trial& trial, const std::string& flag) {
  const auto at = std::find(trial.words.begin(), trial.words.end(), flag);
  return at == trial.words.end() ? "" : *std::next(at);
}

bool has_word(const Trial& trial, const std::string& word) {
  return std::find(trial.words.begin(), trial.words.end(), word) != trial.words.end();
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(branches_plan, PlanFixture)

BOOST_AUTO_TEST_CASE(places_are_words) {
  BranchesRequest request;
  read_places("--branches", "runs/a@b@500st,1.5ep", request);
  BOOST_TEST(request.run.string() == "runs/a@b");
  BOOST_TEST(request.places.at(0).text() == "500st");
  BOOST_TEST(request.places.at(1).text() == "1.5ep");
  for (const char* wrong : {"runs/a", "@500st", "runs/a@", "runs/a@500", "runs/a@500st,", "runs/a@0st", "runs/a@last"})
    BOOST_CHECK_EXCEPTION(read_places("--branches", wrong, request), UsageError,
                          test::says("--branches: expected RUN@500st,2000st or RUN@2ep", wrong));
}

BOOST_AUTO_TEST_CASE(a_branch_has_the_runs_flags_and_a_growth) {
  write({"--epochs", "5"}, {100, 200});
  const BranchesPlan plan = plan_branches(asked("2ep,100st,200st", 32, {2, 4}));
  BOOST_REQUIRE(plan.places.size() == 2u);  // 2 epochs are 200 steps
  const BranchPlace& first = plan.places[0];
  BOOST_TEST(first.step == 100);
  BOOST_TEST(first.samples == 800);
  BOOST_TEST(first.window == 32 * 8);
  BOOST_TEST(first.steps_of(4) == 8);
  const std::vector<Trial> trials = branch_trials(plan);
  BOOST_REQUIRE(trials.size() == 6u);
  BOOST_TEST(trials[0].name == "100st-x1");
  BOOST_TEST(trials[5].name == "200st-x4");
  BOOST_TEST(value_after(trials[0], "--branch") == run.string() + "@100st");
  BOOST_TEST(value_after(trials[0], "--stop-at") == "132st");
  BOOST_TEST(value_after(trials[0], "--minibatch-schedule") == "");
  BOOST_TEST(has_word(trials[0], "--noise-scale"));
  BOOST_TEST(value_after(trials[2], "--stop-at") == "108st");
  BOOST_TEST(value_after(trials[2], "--minibatch-schedule") == "100st:x4:sqrt");
  BOOST_TEST(!has_word(trials[2], "--noise-scale"));
  BOOST_TEST(value_after(trials[2], "--steps") == "");
  BOOST_TEST(plan.notes.empty());
}

// A length in steps is one in samples to a branch, so that its schedule ends where the run's does.
BOOST_AUTO_TEST_CASE(a_run_of_steps_gives_branches_of_fewer) {
  write({"--steps", "200"}, {100});
  const std::vector<Trial> trials = branch_trials(plan_branches(asked("100st", 32, {2, 4})));
  BOOST_TEST(value_after(trials[0], "--steps") == "");
  BOOST_TEST(value_after(trials[1], "--steps") == "150");
  BOOST_TEST(value_after(trials[2], "--steps") == "125");
}

BOOST_AUTO_TEST_CASE(the_runs_own_growths_stay) {
  write({"--epochs", "5", "--minibatch-schedule", "1ep:x2,4ep:x2"}, {120});
  BranchesRequest request = asked("120st");
  request.rule = "linear";
  const BranchesPlan plan = plan_branches(request);
  BOOST_TEST(plan.places[0].minibatch == 16);
  BOOST_TEST(plan.places[0].samples == 100 * 8 + 20 * 16);
  BOOST_TEST(value_after(branch_trials(plan)[1], "--minibatch-schedule") == "1ep:x2,120st:x2:linear");
  write({"--epochs", "5", "--minibatch-schedule", "1ep:x2,4ep:again"}, {120});  // the schedule before a restart is kept
  const std::string kept = value_after(branch_trials(plan_branches(request))[1], "--minibatch-schedule");
  BOOST_TEST(kept == "1ep:x2,120st:x2:linear,3.2ks:again");
  refused(asked("110st"), {"expected a checkpoint at or before 110st = 110 steps, got those of 120 steps",
                           "--save-every 110st --keep 100"});
  write({"--epochs", "5", "--minibatch-schedule", "1ep:x2"}, {90});
  refused(asked("90st"), {"got steps 90 to 106, and it grows to 16 at step 100", "a place behind step 100"});
  refused(asked("100st"), {"it grows to 16 at step 100"});
}

BOOST_AUTO_TEST_CASE(a_place_may_lie_behind_its_checkpoint) {
  write({"--epochs", "5"}, {50, 80, 120});
  const BranchesPlan plan = plan_branches(asked("90st"));
  BOOST_TEST(plan.places[0].checkpoint == 80);
  BOOST_TEST(value_after(branch_trials(plan)[0], "--branch") == run.string() + "@80st");
  BOOST_REQUIRE(plan.notes.size() == 2u);
  BOOST_TEST(test::contains(plan.notes[0], "begin at the checkpoint of 80 steps, and take the run's 10 steps"));
  BOOST_TEST(test::contains(plan.notes[1], "place 90st: its window holds the end of an epoch, where up to 15 samples"));
}

BOOST_AUTO_TEST_CASE(windows_are_whole_steps_of_the_largest_minibatch) {
  write({"--epochs", "5"}, {100});
  const auto window = [&](Period period) {
    BranchesRequest request = asked("100st", 16, {2, 4});
    request.window = period;
    return plan_branches(request).places[0].window;
  };
  BOOST_TEST(window({33, Period::Unit::steps}) == 36 * 8);
  BOOST_TEST(window({0.3, Period::Unit::kilosamples}) == 320);
  BOOST_TEST(window({0.5, Period::Unit::epochs}) == 416);
  refused(asked("100st", 16, {2, 4}),
          {"--window: expected 8 steps or more of the largest minibatch, 4 x 8, got 4", "hint:     --window 32st"});
  refused(asked("100st", 64, {2, 3}), {"--factors: expected whole numbers above 1 that divide the greatest", "'2,3'"});
  refused(asked("100st", 64, {1, 2}), {"--factors", "'1,2'"});
}

BOOST_AUTO_TEST_CASE(workers_may_be_others_than_the_runs) {
  write({"--epochs", "5"}, {100});
  BranchesRequest request = asked("100st");
  request.per_worker = 8;
  const BranchesPlan one = plan_branches(request);
  BOOST_TEST(!one.has_noise);
  BOOST_TEST(!has_word(branch_trials(one)[0], "--noise-scale"));
  BOOST_TEST(one.notes.at(0).find("--per-worker 8: ") == 0u);
  BOOST_TEST(test::contains(one.notes.at(1), "the minibatch of 8 is one worker's; --per-worker 2"));
  request.per_worker = 2;
  BOOST_TEST(plan_branches(request).has_noise);
  BOOST_TEST(value_after(branch_trials(plan_branches(request))[1], "--per-worker") == "2");
}

BOOST_AUTO_TEST_CASE(runs_that_cannot_be_branched_are_refused) {
  refused(asked("100st"), {"--branches: expected the folder of a run, got ", "which has no manifest.json"});
  write({"--epochs", "2"}, {});
  refused(asked("100st"), {"expected a checkpoint at or before 100st = 100 steps, got none"});
  refused(asked("190st"), {"expected a place at least 16 steps, the window, before the end of the run after 200 steps",
                           "got 190st = 190 steps"});
  write({"--epochs", "2", "--warmup", "gradual", "--warmup-epochs", "1"}, {50});
  refused(asked("50st"),
          {"the branch of k = 2 at step 50", "expected growths after the warmup, which ends at epoch 1"});
  write({"--epochs", "2", "--scaling", "adascale", "--base-minibatch", "4", "--base-lr", "0.1"}, {50});
  refused(asked("50st"), {"the branch of k = 2", "adascale"});
  write({"--epochs", "2"}, {50}, "my_model");
  refused(asked("50st"), {"is a run of my_model: expected one of a recipe that ./run list names"});
}

BOOST_AUTO_TEST_CASE(kept_steps_are_told_by_the_names) {
  write({}, {5, 500, 50});
  BOOST_TEST((kept_steps(run) == std::vector<int64_t>{500, 50, 5}));
  BOOST_TEST(kept_steps(directory / "none").empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::branches_plan_test
