// The executor of trials, with shell scripts in place of trainings: what it does with those that end, fail, diverge,
// are killed or are stopped, and that it repeats none.
#include "recipes/trials/executor.h"

#include <signal.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <functional>
#include <map>
#include <thread>

#include "recipes/trials/run_reader.h"
#include "runtime/folder_lock.h"
#include "runtime/process.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::executor_test {
namespace {

namespace fs = std::filesystem;

// The script's first word says what to do; the last one is the run folder. Every start is counted in the folder's
// starts file.
constexpr const char* kScript = R"SH(what=$1
for out in "$@"; do :; done
mkdir -p "$out"
echo x >> "$out/starts"
ended() {
  cat > "$out/manifest.json" <<JSON
{"recipe": "r", "command": "c", "seed": 1, "flags": {"minibatch": 4}, "steps": 10, "steps_per_epoch": 5,
 "ended": {"at": "t", "step": 10, "how": "$1"}, "result": {"error": 0.25, "loss": 1.5, "diverged": $2}}
JSON
}
case $what in
  train) ended finished false ;;
  diverge) ended diverged true; exit 4 ;;
  fail) echo "cannot read the data"; exit 1 ;;
  killed-once) [ "$(wc -l < "$out/starts")" -gt 1 ] || kill -9 $$; ended finished false ;;
  killed) kill -9 $$ ;;
  wait) trap 'ended interrupted false; exit 143' TERM; touch "$out/waits"; while :; do sleep 0.02; done ;;
esac
)SH";

struct Watch : TrialObserver {
  std::vector<std::string> names, waiting = {};
  bool stop = false;
  fs::path stop_behind = {};  // asks to stop once this file is there
  size_t most_running = 0;
  std::function<void()> look = [] {};  // called at every progress

  void ended(const Trial& trial, const TrialOutcome& outcome) override {
    names.push_back(trial.name + (outcome.was_done ? " before" : ""));
  }
  void waits(const Trial& trial, const fs::path& folder) override {
    waiting.push_back(trial.name + " for " + folder.string());
  }
  void progress(double, size_t running) override {
    most_running = std::max(most_running, running);
    look();
  }
  bool wants_to_stop() override { return stop || (!stop_behind.empty() && fs::exists(stop_behind)); }
};

// Trial b follows from what a gave, and w is wanted until it waits; another process has x.
struct Chain : TrialSource {
  fs::path store;
  std::map<std::string, TrialEnd> ends = {};
  std::vector<std::string> taken = {};

  explicit Chain(fs::path folder) : store(std::move(folder)) {}
  bool is_open(const std::string& name) const { return std::find(taken.begin(), taken.end(), name) == taken.end(); }
  std::vector<Trial> ready() override {
    std::vector<Trial> ready;
    for (const Trial& trial : {Trial{"x", {"train"}}, Trial{"w", {"wait"}}, Trial{"a", {"train"}}})
      if (is_open(trial.name)) ready.push_back(trial);
    if (ends.contains("a") && is_open("b")) ready.push_back({"b", {"train"}});
    return ready;
  }
  bool take(const Trial& trial) override {
    if (trial.name == "x") return false;
    taken.push_back(trial.name);
    return true;
  }
  bool wants(const Trial& trial) override { return !fs::exists(store / trial.name / "waits"); }
  void ended(const Trial& trial, const TrialOutcome& outcome) override { ends.emplace(trial.name, outcome.end); }
  bool is_done() override { return ends.size() == 3; }
  double done() override { return static_cast<double>(ends.size()); }
};

struct Fixture {
  test::TemporaryDirectory directory;
  const fs::path store = directory / "study";
  Watch watch;

  Fixture() { test::write_file(directory / "trial.sh", kScript); }
  ExecutorOptions options(int jobs = 1) const { return {store, {"/bin/sh", (directory / "trial.sh").string()}, jobs}; }
  auto run(const std::vector<Trial>& trials, int jobs = 1) { return run_trials(trials, options(jobs), watch); }
  size_t starts(const std::string& name) const {
    const std::string text = test::read_file(store / name / "starts");
    return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(executor, Fixture)

BOOST_AUTO_TEST_CASE(each_trial_ends_its_way) {
  const auto outcomes = run({{"a", {"train"}}, {"b", {"diverge"}}, {"c", {"fail"}}}, 2);
  BOOST_REQUIRE(outcomes);
  BOOST_TEST((outcomes->at(0).end == TrialEnd::trained));
  BOOST_TEST((outcomes->at(1).end == TrialEnd::diverged));
  BOOST_TEST((outcomes->at(2).end == TrialEnd::failed));
  BOOST_TEST(outcomes->at(2).message == "cannot read the data\n");
  std::sort(watch.names.begin(), watch.names.end());
  BOOST_TEST(watch.names == (std::vector<std::string>{"a", "b", "c"}));
}

BOOST_AUTO_TEST_CASE(what_is_done_is_not_repeated_and_what_failed_is) {
  const std::vector<Trial> trials = {{"a", {"train"}}, {"b", {"diverge"}}, {"c", {"fail"}}};
  BOOST_REQUIRE(run(trials));
  watch.names.clear();
  const auto again = run(trials);
  BOOST_REQUIRE(again);
  BOOST_TEST(again->at(0).was_done);
  BOOST_TEST(again->at(1).was_done);
  BOOST_TEST((again->at(1).end == TrialEnd::diverged));
  BOOST_TEST(starts("a") == 1u);
  BOOST_TEST(starts("b") == 1u);
  BOOST_TEST(starts("c") == 2u);
  BOOST_TEST(watch.names == (std::vector<std::string>{"a before", "b before", "c"}));
}

BOOST_AUTO_TEST_CASE(a_killed_trial_starts_once_more) {
  const auto outcomes = run({{"once", {"killed-once"}}, {"always", {"killed"}}});
  BOOST_REQUIRE(outcomes);
  BOOST_TEST((outcomes->at(0).end == TrialEnd::trained));
  BOOST_TEST(starts("once") == 2u);
  BOOST_TEST((outcomes->at(1).end == TrialEnd::failed));
  BOOST_TEST(starts("always") == 2u);
  BOOST_TEST(test::contains(outcomes->at(1).message, "signal 9 ended it 2 times"));
}

BOOST_AUTO_TEST_CASE(what_a_failed_trial_said_stands_below_its_line) {
  const TrialOutcome full{TrialEnd::failed, false, "lenet_mnist: a full disk\n  kept: no checkpoint\n  hint: room\n"};
  BOOST_TEST(ended_text("seed-2", "failed", "1 of 2 done", full) ==
             "seed-2: failed  (1 of 2 done)\n  lenet_mnist: a full disk\n    kept: no checkpoint\n    hint: room");
  BOOST_TEST(ended_text("seed-1", "error 3 %", "2 of 2 done", {TrialEnd::trained}) ==
             "seed-1: error 3 %  (2 of 2 done)");
}

BOOST_AUTO_TEST_CASE(as_many_at_once_as_asked) {
  watch.stop_behind = store / "c" / "waits";
  BOOST_TEST(!run({{"a", {"wait"}}, {"b", {"wait"}}, {"c", {"wait"}}, {"d", {"wait"}}}, 3));
  BOOST_TEST(fs::exists(store / "a" / "starts"));
  BOOST_TEST(!fs::exists(store / "d"));
}

BOOST_AUTO_TEST_CASE(a_stop_lets_trials_end_and_a_second_call_goes_on) {
  watch.stop_behind = store / "a" / "waits";
  BOOST_TEST(!run({{"a", {"wait"}}, {"b", {"train"}}}));
  BOOST_TEST(read_run(store / "a").how == "interrupted");
  watch.stop_behind.clear();
  const auto outcomes = run({{"a", {"train"}}, {"b", {"train"}}});
  BOOST_REQUIRE(outcomes);
  BOOST_TEST((outcomes->at(0).end == TrialEnd::trained));
  BOOST_TEST(starts("a") == 2u);
}

BOOST_AUTO_TEST_CASE(a_source_decides_as_it_goes) {
  Chain chain(store);
  fs::create_directories(store);
  BOOST_TEST(run_trials(chain, options(1), watch));
  BOOST_TEST((chain.ends == std::map<std::string, TrialEnd>{
                                {"a", TrialEnd::trained}, {"b", TrialEnd::trained}, {"w", TrialEnd::stopped}}));
  BOOST_TEST(watch.names == (std::vector<std::string>{"w", "a", "b"}));
  BOOST_TEST(read_run(store / "w").how == "interrupted");
  BOOST_TEST(!fs::exists(store / "x"));
}

BOOST_AUTO_TEST_CASE(a_source_is_told_of_trials_that_a_stop_ended) {
  struct Endless : Chain {
    using Chain::Chain;
    bool wants(const Trial&) override { return true; }
  } chain(store);
  fs::create_directories(store);
  watch.stop_behind = store / "w" / "waits";
  BOOST_TEST(!run_trials(chain, options(1), watch));
  BOOST_TEST((chain.ends == std::map<std::string, TrialEnd>{{"w", TrialEnd::stopped}}));
  BOOST_TEST(watch.names.empty());
}

BOOST_AUTO_TEST_CASE(a_killed_trial_that_is_not_wanted_any_more_is_not_started_again) {
  struct OneOff : Chain {
    using Chain::Chain;
    std::vector<Trial> ready() override {
      return is_open("k") ? std::vector<Trial>{{"k", {"killed"}}} : std::vector<Trial>();
    }
    bool wants(const Trial& trial) override { return !fs::exists(store / trial.name / "starts"); }
    bool is_done() override { return !is_open("k"); }
  } source(store);
  fs::create_directories(store);
  BOOST_TEST(run_trials(source, options(1), watch));
  BOOST_TEST(starts("k") == 1u);
  BOOST_TEST((source.ends == std::map<std::string, TrialEnd>{{"k", TrialEnd::stopped}}));
}

BOOST_AUTO_TEST_CASE(a_trial_whose_folder_is_busy_waits_and_is_told_of_at_a_stop) {
  fs::create_directories(store / "a");
  Process other({"/usr/bin/flock", "-F", (store / "a").string(), "sleep", "600"});
  while (FolderLock(store / "a").has_it()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  struct One : Chain {
    using Chain::Chain;
    std::vector<Trial> ready() override {
      return is_open("a") ? std::vector<Trial>{{"a", {"train"}}} : std::vector<Trial>();
    }
    bool is_done() override { return !is_open("a"); }
  } stopped(store), source(store);
  int looks = 0;
  watch.look = [&] { watch.stop = ++looks == 2; };
  BOOST_TEST(!run_trials(stopped, options(1), watch));
  BOOST_TEST((stopped.ends == std::map<std::string, TrialEnd>{{"a", TrialEnd::stopped}}));
  BOOST_TEST(!fs::exists(store / "a" / "starts"));
  const std::string said = "a for " + (store / "a").string();  // said once, however often the executor looks
  BOOST_TEST(watch.waiting == std::vector<std::string>{said});
  watch.stop = false;
  watch.look = [&] {
    if (++looks == 4) other.signal(SIGKILL);
  };
  BOOST_TEST(run_trials(source, options(1), watch));
  BOOST_TEST(looks >= 4);
  BOOST_TEST(watch.waiting == (std::vector<std::string>{said, said}));
  BOOST_TEST((source.ends == std::map<std::string, TrialEnd>{{"a", TrialEnd::trained}}));
}

BOOST_AUTO_TEST_CASE(an_error_lets_trials_make_their_checkpoints) {
  watch.look = [&] {
    if (fs::exists(store / "a" / "waits")) throw Error("a full disk");
  };
  BOOST_CHECK_EXCEPTION(run({{"a", {"wait"}}}), Error, test::says("a full disk"));
  BOOST_TEST(read_run(store / "a").how == "interrupted");
}

BOOST_AUTO_TEST_CASE(one_executor_a_store) {
  fs::create_directories(store);
  // Another process holds the lock for as long as it lives.
  Process other({"/usr/bin/flock", "-F", store.string(), "sleep", "600"});
  const auto is_locked = [&] {
    try {
      BOOST_REQUIRE(run({}));
      return false;
    } catch (const Error&) {
      return true;
    }
  };
  while (!is_locked()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  BOOST_CHECK_EXCEPTION(run({{"a", {"train"}}}), Error, test::says("is in use: another process runs its trials"));
  other.signal(SIGKILL);
}

BOOST_AUTO_TEST_CASE(jobs_by_processors_trials_and_device) {
  BOOST_TEST(choose_jobs(3, 10, 1, false) == 3);
  BOOST_TEST(choose_jobs(3, 2, 1, false) == 2);
  BOOST_TEST(choose_jobs(0, 1000, 1, true) == 1);
  BOOST_TEST(choose_jobs(0, 0, 1, false) == 1);
  BOOST_TEST(choose_jobs(0, 1000000, 1000000, false) == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::executor_test
