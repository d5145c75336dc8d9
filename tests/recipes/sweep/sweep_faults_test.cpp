// Tests sweeps in which something is wrong: trials that fail on one machine, values that no process can train,
// processes that start at once, a signal while it measures, a launcher, flags that fit no sweep.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "recipes/answer/store_results.h"
#include "recipes/sweep/sweep_store.h"
#include "runtime/folder_lock.h"
#include "tests/recipes/small_sweep.h"
#include "tests/support/support.h"

namespace kb::sweep_faults_test {
namespace {

namespace fs = std::filesystem;
using test::Words;

struct FaultFixture {
  test::TemporaryDirectory directory;
  const fs::path store = directory / "store";

  // Makes a trial fail by a file in the place of its folder of checkpoints.
  void make_fail(const std::string& trial) const {
    fs::create_directories(store / trial);
    test::write_file(store / trial / "checkpoints", "");
  }
  void copy_without(const std::string& start) const {
    fs::copy(test::undisturbed_sweep(), store, fs::copy_options::recursive);
    for (const fs::path& run : test::runs_in(store))
      if (run.filename().string().starts_with(start)) fs::remove_all(run);
  }
  bool has(const std::string& name) const { return fs::exists(store / name); }
};

bool says(const ProcessResult& result, const std::string& part) {
  return result.output.find(part) != std::string::npos;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(sweep_faults, FaultFixture)

BOOST_AUTO_TEST_CASE(nothing_follows_from_trials_that_failed_here) {
  copy_without("kn");
  fs::remove(store / "minibatch-128.json");
  make_fail("kn64-p01");
  const ProcessResult result = test::output_of(test::worker(store));
  BOOST_TEST(result.status == 1);
  BOOST_TEST(says(result, "kn64-p01, lr"), result.output);
  BOOST_TEST(says(result, "not done: 1 trial failed here"), result.output);
  BOOST_TEST(!has("minibatch-128.json"));
  BOOST_TEST(!has("kn64-p00-seed-2"));
  BOOST_TEST(test::runs_in(store).size() >= 2u);
  fs::remove_all(store / "kn64-p01");
  BOOST_TEST(test::output_of(test::worker(store)).status == 0);
  test::check_whole(store);
}

BOOST_AUTO_TEST_CASE(a_process_whose_trials_fail_one_after_the_other_takes_no_more) {
  for (const char* trial : {"kn64-p00", "kn64-p01", "kn64-p02"}) make_fail(trial);
  fs::copy(test::undisturbed_sweep() / "sweep.json", store / "sweep.json");
  const ProcessResult result =
      test::output_of(test::with_value(test::with_value(test::sweep(store), "--trials", "6"), "--jobs", "1"));
  BOOST_TEST(result.status == 1);
  BOOST_TEST(says(result, "not done: 3 trials failed here"), result.output);
  BOOST_TEST(!has("kn64-p03"));
}

// The best momentum of minibatch 64 may be so near to 1 that a momentum for minibatch 128 is beyond 1.
BOOST_AUTO_TEST_CASE(values_that_are_not_taken_are_told_and_passed_over) {
  const Words words = test::with_value(test::sweep(store), "--search", "momentum=x0.9:1.1");
  Words begun = words;
  begun.insert(begun.end(), {"--budget", "0.001s"});
  BOOST_TEST(test::output_of(begun).status == 0);
  test::write_file(store / "minibatch-128.json", R"({"centre":{"momentum":0.99},"most_steps":0})");
  const ProcessResult result = test::output_of(words);
  BOOST_TEST(result.status == 0, result.output);
  BOOST_TEST(says(result, "1 refused"), result.output);
  const SweepPlan plan = test::plan_of(store);
  BOOST_TEST(plan.is_done());
  const PlannedTrial& refused = *plan.find("kn128-p02");
  BOOST_TEST(refused.values.at("momentum") == "1.036");
  BOOST_TEST((refused.state == TrialState::refused));
  BOOST_TEST(test::read_file(store / "kn128-p02" / "refused.txt").find("--momentum") == 0u);
  BOOST_TEST(read_store(store).trials.size() == plan.closed() - plan.count(TrialState::refused));
}

BOOST_AUTO_TEST_CASE(processes_that_make_a_sweep_at_once_all_have_it) {
  const SweepDefinition definition = read_sweep(test::undisturbed_sweep());
  constexpr int kRounds = 30, kProcesses = 4;
  for (int round = 0; round < kRounds; ++round) {
    const fs::path own = directory / std::to_string(round);
    std::vector<pid_t> processes;
    for (int number = 0; number < kProcesses; ++number) {
      processes.push_back(::fork());
      if (processes.back() != 0) continue;
      int status = 0;
      try {
        open_sweep(own, definition);
        SweepView(own).advance();
        fs::create_directories(own / "claims");
      } catch (const std::exception& error) {
        test::write_file(directory / "error", error.what());
        status = 1;
      }
      ::_exit(status);
    }
    for (const pid_t process : processes) {
      int status = 0;
      ::waitpid(process, &status, 0);
      if (status != 0) BOOST_FAIL(test::read_file(directory / "error"));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_signal_while_it_measures_is_a_stop) {
  Process running(test::without(test::sweep(store), "--jobs"));
  const auto is_measuring = [&] {
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(store, error))
      if (entry.path().filename().string().starts_with("packing-") && !fs::is_empty(entry.path(), error)) return true;
    return !test::runs_in(store).empty();  // on one processor nothing is measured
  };
  test::wait_for([&] { return is_measuring() || !running.runs(); });
  running.signal(SIGTERM);
  const ProcessResult result = running.wait();
  BOOST_TEST(result.status == 128 + SIGTERM, result.output);
  BOOST_TEST(says(result, "stopped; to go on: ./run sweep --worker"), result.output);
  for (const fs::directory_entry& entry : fs::directory_iterator(store))
    if (entry.path().filename().string().starts_with("packing-")) BOOST_TEST(fs::is_empty(entry.path()));
}

// The program is replaced while the sweep runs, as by a build of a changed source.
BOOST_AUTO_TEST_CASE(trials_are_started_by_the_program_that_the_sweep_began_with) {
  const fs::path program = directory / "sweep";
  fs::copy_file(KB_BIN "/sweep", program);
  Words words = test::with_value(test::sweep(store), "--jobs", "1");
  words[0] = program.string();
  Process running(words);
  test::wait_for([&] { return has("kn64-p00") || !running.runs(); });
  fs::remove(program);
  test::write_file(program, "#!/bin/sh\necho another program\nexit 7\n");
  fs::permissions(program, fs::perms::owner_all);
  const ProcessResult result = running.wait();
  BOOST_TEST(result.status == 0, result.output);
  BOOST_TEST(!says(result, "another program"), result.output);
  test::check_whole(store);
}

BOOST_AUTO_TEST_CASE(a_launcher_starts_workers_but_no_sweeps) {
  copy_without("kn128-p01");
  const auto launched = [](Words words) {
    words.insert(words.begin(), {"/usr/bin/env", "SLURM_STEP_NUM_TASKS=8", "PMI_SIZE=8", "PMI_RANK=3"});
    return test::output_of(words);
  };
  const ProcessResult worked = launched(test::worker(store));
  BOOST_TEST(worked.status == 0, worked.output);
  test::check_whole(store);
  const ProcessResult refused = launched(test::sweep(store));
  BOOST_TEST(refused.status == 2);
  BOOST_TEST(says(refused, "expected one process, which starts its trainings itself, got 8 by srun"), refused.output);
}

// The process holds the claim of the trial, but another one the lock of its folder.
BOOST_AUTO_TEST_CASE(a_process_says_that_it_waits_for_a_folder_in_use) {
  copy_without("kn128-p01");
  const fs::path run = store / "kn128-p01";
  fs::create_directory(run);
  Process other({"/usr/bin/flock", "-F", run.string(), "sleep", "600"});
  test::wait_for([&] { return !FolderLock(run).has_it(); });
  const ProcessResult waited = test::output_of(test::worker(store, {"--budget", "1s"}));
  BOOST_TEST(waited.status == 0);
  BOOST_TEST(says(waited, "waiting for kn128-p01: its folder is in use by another process: " + run.string() + "\n"),
             waited.output);
  BOOST_TEST(says(waited, "the budget is spent"), waited.output);
  BOOST_TEST(fs::is_empty(run));
  other.signal(SIGKILL);
  other.wait();
  BOOST_TEST(test::output_of(test::worker(store)).status == 0);
  test::check_whole(store);
}

// The executor that started the trial was killed before the trial began.
BOOST_AUTO_TEST_CASE(a_trial_without_its_executor_does_not_train) {
  const ProcessResult orphan =
      test::output_of({KB_BIN "/sweep", "trial", "1", "mlp_mnist", "--dataset", "glyphs", "--out", store.string()});
  BOOST_TEST(orphan.status == 128 + SIGTERM, orphan.output);
  BOOST_TEST(!fs::exists(store));
  BOOST_TEST(test::output_of({KB_BIN "/sweep", "trial", "mlp_mnist"}).status == 2);
}

// A folder lies in the place of the index.
BOOST_AUTO_TEST_CASE(an_index_that_cannot_be_written_is_told) {
  copy_without("kn128-p01");
  fs::remove(store / "index.sqlite");
  fs::create_directories(store / "index.sqlite" / "x");
  const ProcessResult result = test::output_of(test::worker(store));
  BOOST_TEST(result.status == 0);
  BOOST_TEST(says(result, "NOTE: cannot write"), result.output);
  BOOST_TEST(says(result, "next: ./run study"), result.output);
  test::check_whole(store);
}

BOOST_AUTO_TEST_CASE(what_a_sweep_cannot_be_is_refused) {
  const auto refused = [&](const Words& more, const std::string& part, const std::string& missing = "") {
    const Words words = test::sweep(store, more);
    const ProcessResult result = test::output_of(missing.empty() ? words : test::without(words, missing));
    BOOST_TEST(result.status == 2, result.output);
    BOOST_TEST(test::contains(result.output, part));
    BOOST_TEST(!fs::exists(store));
  };
  refused({}, "--grid: expected the minibatches", "--grid");
  refused({}, "--target: expected the figure", "--target");
  refused({"--minibatch", "8"}, "--minibatch: expected --grid alone");
  refused({"--lr", "0.1"}, "--lr: expected --search lr=... alone");
  refused({"--search", "momntum=0.9:0.99:revlog"}, "there is no flag '--momntum'; did you mean '--momentum'?");
  refused({"--search", "lr=1:2:log"}, "--search: expected one range of --lr, got two");
  refused({"--search", "seed=1,2"}, "a flag with a value that changes what is computed");
  refused({"--search", "keep=1,2"}, "a flag with a value that changes what is computed");
  refused({"--search", "momentum=0.5:1"}, "--momentum: expected a number in [0, 1)");
  refused({"--search", "label-smoothing=x0.5:2"}, "a value above 0 of --label-smoothing");
  refused({"--out", "x"}, "--out: expected no such flag beside a sweep, whose folder is --store");
  refused({"--batch-norm", "ghost(8)"}, "--batch-norm: expected no such flag beside a sweep");
  refused({"--stop-at", "5st"}, "--stop-at: expected no such flag beside a sweep");
  refused({"--search", "power=1:3"}, "--power: it has no effect here");
  refused({"--dry-run"}, "sweep: expected no flag that looks inside one training");
  refused({"--budget", "2"}, "--budget: expected a time such as 90s, 45m or 2h, got '2'");
  refused({"--lease", "0.0005s"}, "--lease: expected a time from 1s to 24h, got '0.0005s'");
  refused({"--widenings", "-1"}, "--widenings: expected a whole number in [0, 2^31), got '-1'");
  refused({"--points", "sobol"}, "--points: expected one of halton, even");
  refused({"--trails", "3"}, "there is no flag '--trails'; did you mean '--trials'?");
  const ProcessResult result = test::output_of(test::worker(store));
  BOOST_TEST(result.status == 1);
  BOOST_TEST(test::contains(result.output, "holds no sweep: there is no sweep.json"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::sweep_faults_test
