// Tests the program `sweep` with real trainings of a small net on drawn images: killed at any point it goes on and
// repeats nothing, several workers share a store, and the result is that of a sweep that nobody disturbed.
#include <signal.h>
#include <sqlite3.h>

#include <boost/test/unit_test.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "recipes/answer/answer_files.h"
#include "recipes/answer/measurements.h"
#include "recipes/answer/store_results.h"
#include "recipes/sweep/sweep_store.h"
#include "recipes/sweep/sweep_table.h"
#include "recipes/trials/run_reader.h"
#include "runtime/input_file.h"
#include "tests/recipes/small_run.h"
#include "tests/recipes/small_sweep.h"
#include "tests/support/support.h"

namespace kb::sweep_test {
namespace {

namespace fs = std::filesystem;
using test::Words, test::sweep, test::worker, test::output_of, test::wait_for, test::runs_in, test::plan_of,
    test::undisturbed_sweep, test::check_whole;

std::map<std::string, std::string> manifests_of_done(const fs::path& store) {
  std::map<std::string, std::string> manifests;
  for (const fs::path& run : runs_in(store))
    if (read_manifest(run).is_done()) manifests[run.filename().string()] = test::read_file(run / "manifest.json");
  return manifests;
}

void check_untouched(const fs::path& store, const std::map<std::string, std::string>& manifests) {
  for (const auto& [name, manifest] : manifests)
    BOOST_TEST(test::read_file(store / name / "manifest.json") == manifest, name + " was trained again");
}

struct SweepFixture {
  test::TemporaryDirectory directory;
  const fs::path store = directory / "store";
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(sweeps, SweepFixture)

BOOST_AUTO_TEST_CASE(a_sweep_leaves_a_store) {
  const fs::path whole = undisturbed_sweep();
  const SweepPlan plan = plan_of(whole);
  BOOST_TEST(plan.is_done());
  for (const MinibatchPlan& minibatch : plan.minibatches) {
    BOOST_REQUIRE(minibatch.best.has_value());
    const PlannedTrial& best = minibatch.trials[*minibatch.best];
    const RunReport run = read_run(whole / best.name);
    BOOST_TEST(run.how == "target");
    BOOST_TEST(run.part == "valid");
    for (const EvaluationPoint& point : run.evaluations)
      BOOST_TEST((point.goal < 0.45) == (point.step == *run.target_step));
    BOOST_TEST(std::any_of(minibatch.trials.begin(), minibatch.trials.end(), [&](const PlannedTrial& trial) {
      return trial.name == best.name + "-seed-2" && read_run(whole / trial.name).seed == 2;
    }));
  }
  const int64_t cap = plan.minibatches[1].opening.most_steps;
  BOOST_TEST(cap == std::ceil(3 * plan.minibatches[0].trials[*plan.minibatches[0].best].standing.samples / 128));
}

BOOST_AUTO_TEST_CASE(the_same_command_trains_nothing_anew) {
  const fs::path whole = undisturbed_sweep();
  const auto before = manifests_of_done(whole);
  const ProcessResult again = output_of(sweep(whole));
  BOOST_TEST(again.status == 0);
  BOOST_TEST(test::contains(again.output, "next: ./run study " + whole.string()));
  check_untouched(whole, before);
  BOOST_TEST(manifests_of_done(whole).size() == before.size());
  const ProcessResult worked = output_of(worker(whole));
  BOOST_TEST(worked.status == 0);
  check_untouched(whole, before);
}

BOOST_AUTO_TEST_CASE(a_recipes_own_program_has_the_command) {
  fs::copy(undisturbed_sweep(), store, fs::copy_options::recursive);
  fs::remove_all(store / "kn128-p01");
  Words words = sweep(store, {"--budget", "0.001s"});
  words[0] = KB_BIN "/mlp_mnist";
  words[1] = "sweep";
  const ProcessResult stopped = output_of(words);
  BOOST_TEST(stopped.status == 0);
  BOOST_TEST(test::contains(stopped.output, "./run mlp_mnist sweep --worker " + store.string()));
  BOOST_TEST(output_of({KB_BIN "/mlp_mnist", "sweep", "--worker", store.string(), "--jobs", "1"}).status == 0);
  check_whole(store);
  const ProcessResult other = output_of({KB_BIN "/resnet_cifar", "sweep", "--worker", store.string()});
  BOOST_TEST(other.status == 2);
  BOOST_TEST(test::contains(other.output, "expected a sweep of resnet_cifar, got one of mlp_mnist"));
}

BOOST_AUTO_TEST_CASE(measurements_are_those_of_the_run_folders) {
  const fs::path whole = undisturbed_sweep();
  const std::vector<Measurement> measurements = results_to_own_target(read_store(whole)).measurements;
  const SweepPlan plan = plan_of(whole);
  BOOST_TEST(measurements.size() == plan.closed());
  size_t at = 0;
  for (const MinibatchPlan& minibatch : plan.minibatches)
    for (const PlannedTrial& trial : minibatch.trials) {
      const Measurement& measurement = measurements.at(at++);
      BOOST_TEST(measurement.minibatch == minibatch.minibatch);
      BOOST_TEST(measurement.rate.value() == std::stod(trial.values.at("lr")));
      BOOST_TEST(measurement.seed.value() == trial.seed);
      BOOST_TEST(measurement.steps.has_value() == (trial.state == TrialState::reached));
      if (measurement.steps) {  // interpolated: it crossed the target before the evaluation that reached it
        BOOST_TEST(*measurement.steps == trial.standing.crossing);
        BOOST_TEST(*measurement.steps > 0.5 * static_cast<double>(trial.standing.target_step));
        BOOST_TEST(*measurement.steps <= static_cast<double>(trial.standing.target_step));
        BOOST_TEST(measurement.samples.value() ==
                   static_cast<double>(trial.standing.target_step * minibatch.minibatch));
      }
      BOOST_TEST(measurement.seconds.value() > 0);
    }
}

BOOST_AUTO_TEST_CASE(a_study_answers_from_the_store) {
  const fs::path whole = undisturbed_sweep();
  const test::TemporaryDirectory directory;
  const ProcessResult result = output_of({KB_BIN "/study", whole.string(), "--out", (directory / "answer").string()});
  BOOST_REQUIRE(result.status == 0);
  BOOST_TEST(test::contains(result.output, " runs to error=0.45"));
  BOOST_TEST(!test::contains(result.output, "the sweep is not done"));
  const StoreRuns runs = read_store(whole);
  const StoreResults results = results_to_own_target(runs);
  const SweepPlan planned = plan_of(whole);
  BOOST_TEST(runs.head.notes.empty());
  const std::string json = read_file((directory / "answer" / "study.json").string());
  for (const char* part : {"\"the recipe\": ", "\"--draws\": \"2\"", "\"data\": ", "\"build\": ", "\"device\": \"cpu"})
    BOOST_TEST(test::contains(json, part));
  const StudyAnswer answer = answer_study(results.measurements, {});
  for (const BestResult& one : answer.best) {
    const MinibatchPlan& plan = *std::find_if(planned.minibatches.begin(), planned.minibatches.end(),
                                              [&](const auto& at) { return at.minibatch == one.minibatch; });
    BOOST_TEST(one.best.rate.value() == std::stod(plan.trials[plan.best.value()].values.at("lr")));
  }
  BOOST_TEST(results.noise.value().samples == 500);
  BOOST_TEST(test::contains(result.output, "By the 500 samples that error=0.45 was judged on"));
  BOOST_TEST(answer_csv(answer) == test::read_file(directory / "answer/study.csv"));
  for (const char* name : {"runs.csv", "study.html", "study.json", "curves.svg", "steps.svg", "rates.svg"})
    BOOST_TEST(fs::exists(directory / "answer" / name), name);
  const std::string curves = test::read_file(directory / "answer/curves.svg");
  for (const char* words : {"valid error", ">target<", ">64<", ">128<"}) BOOST_TEST(test::contains(curves, words));

  BOOST_TEST(output_of({KB_BIN "/study", whole.string(), "--samples-per-epoch", "10"}).status == 2);
  const ProcessResult no_sweep = output_of({KB_BIN "/study", (whole / "claims").string()});
  BOOST_TEST(no_sweep.status == 1);
  BOOST_TEST(test::contains(no_sweep.output, "sweep.json"));
}

// An easier target is seen in the runs that ended at the sweep's own, one that lies beyond it in few or none.
BOOST_AUTO_TEST_CASE(a_study_answers_for_other_targets_from_the_same_runs) {
  const fs::path whole = undisturbed_sweep();
  const test::TemporaryDirectory directory;
  const StoreRuns runs = read_store(whole);
  const TargetFigure easier{"error", 0.6};
  const std::vector<Measurement> own = results_to_own_target(runs).measurements,
                                 same = results_to(runs, {"error", 0.45}).measurements,
                                 early = results_to(runs, easier).measurements;
  BOOST_TEST(measurement_table(own) == measurement_table(same));
  for (size_t i = 0; i < runs.trials.size(); ++i) {
    const RunReport& run = runs.trials[i].run;
    const auto first = std::find_if(run.evaluations.begin(), run.evaluations.end(),
                                    [](const EvaluationPoint& point) { return point.step > 0 && point.goal < 0.6; });
    BOOST_TEST(early[i].steps.has_value() == (first != run.evaluations.end()));
    if (!early[i].steps) continue;
    BOOST_TEST(*early[i].steps <= static_cast<double>(first->step));
    BOOST_TEST(early[i].samples.value() == static_cast<double>(first->step * run.minibatch));
    if (own[i].steps) BOOST_TEST(*early[i].steps <= *own[i].steps);
  }
  const fs::path answer = directory / "answer";
  const ProcessResult result =
      output_of({KB_BIN "/study", whole.string(), "--targets", "60%,45%,0.1%", "--out", answer.string()});
  BOOST_REQUIRE(result.status == 0);
  for (const char* part : {"error=0.6", "NOTE: error=0.001: 0 of ", "; the runs end at error=0.45",
                           "Does B_crit grow as the error falls? undecided: of 0 targets"})
    BOOST_TEST(test::contains(result.output, part));
  for (const char* name : {"targets.csv", "targets_steps.csv", "targets.json", "targets.html", "targets_steps.svg"})
    BOOST_TEST(fs::exists(answer / name), name);
  for (const char* values : {"60", "0,0.45", "-1%"}) {
    const ProcessResult refused = output_of({KB_BIN "/study", whole.string(), "--targets", values});
    BOOST_TEST(refused.status == 2);
    BOOST_TEST(test::contains(refused.output, "--targets: expected shares of the samples"));
  }
  test::write_file(directory / "runs.csv", "minibatch,steps\n8,100\n");
  BOOST_TEST(output_of({KB_BIN "/study", (directory / "runs.csv").string(), "--targets", "1"}).status == 2);
  BOOST_TEST(output_of({KB_BIN "/study", whole.string(), "--targets", "60%;45%"}).status == 2);
  const ProcessResult profile = output_of({KB_BIN "/study", whole.string(), whole.string(), "--targets", "60%,45%",
                                           "--out", (directory / "both").string()});
  BOOST_TEST(profile.status == 0);
  BOOST_TEST(test::contains(test::read_file(directory / "both/profile.csv"), "whole,4,4,1,1,1,1\n"));
}

BOOST_AUTO_TEST_CASE(the_index_says_what_the_run_folders_say) {
  const fs::path whole = undisturbed_sweep();
  std::map<std::string, std::string> states;
  sqlite3* database = nullptr;
  BOOST_REQUIRE(sqlite3_open_v2((whole / "index.sqlite").c_str(), &database, SQLITE_OPEN_READONLY, nullptr) ==
                SQLITE_OK);
  const auto take = [](void* to, int, char** values, char**) {
    (*static_cast<std::map<std::string, std::string>*>(to))[values[0]] = values[1];
    return 0;
  };
  BOOST_TEST(sqlite3_exec(database, "SELECT name, state || ' ' || steps || ' ' || is_best FROM trials", take, &states,
                          nullptr) == SQLITE_OK);
  sqlite3_close(database);
  const SweepPlan plan = plan_of(whole);
  BOOST_TEST(states.size() == plan.closed());
  for (const MinibatchPlan& minibatch : plan.minibatches)
    for (size_t i = 0; i < minibatch.trials.size(); ++i) {
      const PlannedTrial& trial = minibatch.trials[i];
      const int is_best = i == minibatch.best ? 1 : 0;
      BOOST_TEST(states.at(trial.name) == text_of(trial.state) + " " +
                                              std::to_string(read_manifest(whole / trial.name).steps) + " " +
                                              std::to_string(is_best));
    }
}

BOOST_AUTO_TEST_CASE(killed_twice_it_goes_on_and_repeats_nothing) {
  std::map<std::string, std::string> done;
  for (const size_t trials : {2u, 5u}) {
    Process running(sweep(store));
    wait_for([&] { return runs_in(store).size() >= trials || !running.runs(); });
    running.signal(SIGKILL);
    BOOST_TEST(running.wait().status == 128 + SIGKILL);
    check_untouched(store, done);
    done = manifests_of_done(store);
  }
  BOOST_TEST(output_of(sweep(store)).status == 0);
  check_untouched(store, done);
  check_whole(store);
}

BOOST_AUTO_TEST_CASE(a_signal_lets_trials_make_their_checkpoints) {
  Process running(sweep(store));
  wait_for([&] { return !runs_in(store).empty() || !running.runs(); });
  running.signal(SIGTERM);
  const ProcessResult stopped = running.wait();
  BOOST_TEST(stopped.status == 128 + SIGTERM);
  BOOST_TEST(test::contains(stopped.output, "stopped; to go on: ./run sweep --worker " + store.string()));
  BOOST_TEST(output_of(worker(store, {"--jobs", "2"})).status == 2);  // --jobs is given twice
  BOOST_TEST(output_of(worker(store)).status == 0);
  check_whole(store);
}

BOOST_AUTO_TEST_CASE(of_two_workers_one_is_killed_and_the_other_does_all) {
  Process first(sweep(store, {"--budget", "1h"}));
  wait_for([&] { return fs::exists(store / "sweep.json") || !first.runs(); });
  Process second(worker(store));
  wait_for([&] { return runs_in(store).size() >= 4 || !first.runs(); });
  first.signal(SIGKILL);
  first.wait();
  const auto done = manifests_of_done(store);
  const ProcessResult result = second.wait();
  BOOST_TEST(result.status == 0, result.output);
  check_untouched(store, done);
  check_whole(store);
}

BOOST_AUTO_TEST_CASE(two_workers_share_the_trials) {
  Process first(sweep(store));
  wait_for([&] { return fs::exists(store / "sweep.json") || !first.runs(); });
  Process second(worker(store));
  BOOST_TEST(first.wait().status == 0);
  BOOST_TEST(second.wait().status == 0);
  check_whole(store);
  for (const fs::path& run : runs_in(store))
    BOOST_TEST(!nlohmann::json::parse(test::read_file(run / "manifest.json")).contains("resumed"), run.filename());
  std::set<int64_t> processes;
  for (const fs::directory_entry& entry : fs::directory_iterator(store / "claims"))
    if (const nlohmann::json claim = nlohmann::json::parse(test::read_file(entry.path()), nullptr, false);
        claim.is_object())
      processes.insert(claim.at("pid").get<int64_t>());
  BOOST_TEST(processes.size() == 2u);
}

// The claims of a worker whose clock is a day slow do not look a day old to the others, nor theirs a day ahead to it.
BOOST_AUTO_TEST_CASE(a_slow_clock_does_not_matter) {
  const fs::path library = KB_BIN "/slow_clock.so";
  if (!fs::exists(library)) {
    BOOST_TEST_MESSAGE("SKIPPED: no " + library.string() + ": a sanitizer's library has to be loaded before others");
    return;
  }
  Words slow = worker(store, {"--lease", "5s"});
  slow.insert(slow.begin(), {"/usr/bin/env", "LD_PRELOAD=" + library.string()});
  Process first(sweep(store, {"--lease", "5s"}));
  wait_for([&] { return fs::exists(store / "sweep.json") || !first.runs(); });
  Process second(slow);
  BOOST_TEST(first.wait().status == 0);
  const ProcessResult slow_result = second.wait();
  BOOST_TEST(slow_result.status == 0, slow_result.output);
  BOOST_TEST(!test::contains(slow_result.output, "taken it over"));
  check_whole(store);
  size_t started_yesterday = 0;
  const std::string today =
      nlohmann::json::parse(test::read_file(runs_in(undisturbed_sweep()).front() / "manifest.json")).at("started");
  for (const fs::path& run : runs_in(store)) {
    const nlohmann::json manifest = nlohmann::json::parse(test::read_file(run / "manifest.json"));
    BOOST_TEST(!manifest.contains("resumed"), run.filename());
    started_yesterday += manifest.at("started").get<std::string>() < today;
  }
  BOOST_TEST(started_yesterday > 0u);  // the slow one trained some
}

BOOST_AUTO_TEST_CASE(a_spent_budget_ends_it_and_the_same_command_goes_on) {
  fs::copy(undisturbed_sweep(), store, fs::copy_options::recursive);
  fs::remove_all(store / "kn128-p01");
  const auto before = manifests_of_done(store);
  const ProcessResult none = output_of(sweep(store, {"--budget", "0.001s"}));
  BOOST_TEST(none.status == 0);
  BOOST_TEST(test::contains(none.output, "the budget is spent; to go on: ./run sweep --worker"));
  BOOST_TEST(!fs::exists(store / "kn128-p01"));
  BOOST_TEST(output_of(sweep(store, {"--budget", "2h"})).status == 0);
  check_untouched(store, before);
  check_whole(store);
}

BOOST_AUTO_TEST_CASE(it_grows_and_is_refused_where_it_is_another) {
  fs::copy(undisturbed_sweep(), store, fs::copy_options::recursive);
  const auto before = manifests_of_done(store);
  const Words more = test::with_value(sweep(store), "--trials", "4");
  BOOST_TEST(output_of(more).status == 0);
  check_untouched(store, before);
  BOOST_TEST(fs::exists(store / "kn64-p03" / "manifest.json"));
  BOOST_TEST(fs::exists(store / "kn128-p03" / "manifest.json"));
  const ProcessResult refused = output_of(test::with_value(more, "--target", "error=40%"));
  BOOST_TEST(refused.status == 1);
  for (const char* part : {"holds another sweep: the flags of its trials differ", "error=45%", "error=40%", "hint:"})
    BOOST_TEST(test::contains(refused.output, part));
}

BOOST_AUTO_TEST_CASE(a_folder_of_something_else_is_refused) {
  fs::create_directories(store);
  test::write_file(store / "notes.txt", "mine");
  const ProcessResult result = output_of(sweep(store));
  BOOST_TEST(result.status == 1);
  BOOST_TEST(
      test::contains(result.output, "expected a new or empty folder, or one of a sweep, got one that holds notes.txt"));
}

BOOST_AUTO_TEST_CASE(ranges_that_stay_need_no_trial_of_a_widened_one) {
  BOOST_TEST(output_of(sweep(store, {"--budget", "0.001s", "--widenings", "0", "--draws", "1"})).status == 0);
  const SweepDefinition definition = SweepView(store).definition();
  BOOST_TEST(definition.constants.widenings == 0);
  BOOST_TEST(test::plan_of(store).most_trials(definition) == 2u * (3 + 1));  // two minibatches, each with a second seed
}

// A store may come from anywhere, so that its files may hold anything.
BOOST_AUTO_TEST_CASE(a_damaged_store_is_named) {
  fs::create_directories(store);
  const auto refused = [&](const std::string& text, const std::string& part) {
    test::write_file(store / "sweep.json", text);
    const ProcessResult result = output_of(worker(store));
    BOOST_TEST((result.status == 1 || result.status == 2), result.output);
    BOOST_TEST(test::contains(result.output, part));
  };
  const std::string whole = test::read_file(undisturbed_sweep() / "sweep.json");
  refused("{", "sweep.json");
  refused("{}", "recipe");
  const auto with = [&](const char* key, const nlohmann::json& value) {
    nlohmann::json json = nlohmann::json::parse(whole);
    json[key] = value;
    return json.dump();
  };
  refused(with("trials", 0), "sweep.json: --trials: expected a whole number in [1, 1000], got 0");
  refused(with("points", "sobol"), "points: expected one of halton, even");
  refused(with("recipe", "mlp"), "mlp_mnist");
  refused(with("arguments", {"--help"}), "'--help' is none of the flags that say what is computed");
  refused(with("arguments", {"--out", "x"}), "'--out' is none of the flags that say what is computed");
  test::write_file(store / "minibatch-64.json", "{\"centre\":");
  refused(whole, "minibatch-64.json");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::sweep_test
