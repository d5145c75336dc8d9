// The files of a store that several processes share, where one of them is empty, damaged or of another build.
#include "recipes/sweep/sweep_store.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>
#include <thread>

#include "recipes/answer/store_results.h"
#include "recipes/config/values.h"
#include "recipes/papers/table.h"
#include "recipes/sweep/sweep_source.h"
#include "recipes/sweep/sweep_trials.h"
#include "recipes/trials/run_reader.h"
#include "runtime/atomic_file.h"
#include "runtime/commit.h"
#include "runtime/input_file.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::sweep_store_test {

BOOST_AUTO_TEST_SUITE(sweep_store)

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

struct StoreFixture {
  test::TemporaryDirectory directory;
  const fs::path store = directory / "store", file = store / "sweep.json";
  SweepDefinition definition;

  StoreFixture() {
    SweepFlags flags;
    flags.grid = "minibatch=64,128";
    flags.search = {"lr=x0.5:2"};
    flags.trials = 2;
    definition = define_sweep(find_recipe("mlp_mnist"), flags,
                              {"--dataset", "glyphs", "--target", "error=45%", "--validation", "500"}, 1);
  }

  PlannedTrial planned(const std::string& name) const {
    SweepView view(store);
    view.refresh();
    return *view.plan().find(name);
  }
  nlohmann::ordered_json kept() const { return nlohmann::ordered_json::parse(test::read_file(file)); }
  // The run says that it reached the target after `step` of its steps, and so does its evaluation, by its error. Its
  // flags are those of its trial, but for `other_flags`.
  void write_run(const std::string& name, int64_t step, int64_t steps, double error = 0.001,
                 const nlohmann::json& other_flags = nlohmann::json::object()) const {
    nlohmann::json flags = {{"minibatch", 64}, {"target", "error=0.45"}, {"lr", std::stod(planned(name).values["lr"])}};
    flags.update(other_flags);
    const nlohmann::json manifest = {
        {"recipe", "mlp_mnist"},
        {"seed", flags.value("seed", 1)},
        {"steps", steps},
        {"steps_per_epoch", 10},
        {"flags", flags},
        {"ended", {{"how", "target"}, {"step", steps}}},
        {"result", {{"error", 0.4}, {"loss", 1.0}, {"target_step", step}, {"target_samples", 64.0 * 100}}}};
    fs::create_directories(store / name);
    test::write_file(store / name / "manifest.json", manifest.dump());
    const nlohmann::json line = {{"kind", "eval"}, {"step", step},   {"epoch", 1},  {"part", "valid"},
                                 {"loss", 1.0},    {"error", error}, {"count", 10}, {"wall_s", 1}};
    test::write_file(store / name / "metrics.jsonl", line.dump() + "\n");
  }
};

// Makes `folder` the current folder until the end of the scope.
class InFolder {
 public:
  explicit InFolder(const fs::path& folder) { fs::current_path(folder); }
  ~InFolder() { fs::current_path(before_); }
  InFolder(const InFolder&) = delete;
  InFolder& operator=(const InFolder&) = delete;

 private:
  const fs::path before_ = fs::current_path();
};

// Empties a file, as a process leaves it that was killed long ago.
void empty_for_long(const fs::path& file) {
  fs::create_directories(file.parent_path());
  test::write_file(file, "");
  fs::last_write_time(file, fs::last_write_time(file) - std::chrono::seconds(kAbandonedSeconds + 2));
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(what_a_killed_process_left_empty_is_made, StoreFixture) {
  empty_for_long(file);
  open_sweep(store, definition);
  BOOST_TEST(test::read_file(file) == definition_json(definition));
  empty_for_long(store / "minibatch-64.json");
  SweepView view(store);
  view.advance();
  BOOST_TEST(test::contains(test::read_file(store / "minibatch-64.json"), "\"centre\""));
  BOOST_TEST(view.plan().waiting().size() == 2u);
}

BOOST_FIXTURE_TEST_CASE(what_another_process_makes_is_waited_for, StoreFixture) {
  fs::create_directories(store);
  test::write_file(file, "");
  BOOST_CHECK_EXCEPTION(read_sweep(store), Error, test::says("holds no sweep: ", "sweep.json"));
  std::thread other([&] {
    std::this_thread::sleep_for(30ms);
    SweepDefinition first = definition;
    first.trials = 1;
    write_file_atomically(file, definition_json(first));
  });
  const SweepDefinition opened = open_sweep(store, definition);
  other.join();
  BOOST_TEST(opened.trials == 2);
  BOOST_TEST(kept().at("trials") == 2);
}

BOOST_FIXTURE_TEST_CASE(a_damaged_opening_is_named_and_may_be_removed, StoreFixture) {
  open_sweep(store, definition);
  const fs::path opening = store / "minibatch-64.json";
  const auto check_named = [&](const char* why) {
    SweepView view(store);
    BOOST_CHECK_EXCEPTION(view.advance(), Error,
                          test::says("minibatch-64.json", why, "hint:     remove it: the minibatch is planned again"));
  };
  for (const char* text : {"{", "{}", "{\"centre\":{\"lr\":0.1},\"most_steps\":-1}"}) {
    test::write_file(opening, text);
    check_named("minibatch-64.json: ");
  }
  for (const char* steps : {"2147483648", "9223372036854775807"}) {
    test::write_file(opening, fmt::format("{{\"centre\":{{\"lr\":0.1}},\"most_steps\":{}}}", steps));
    check_named("a number of steps in [1, 2147483647], or 0");
  }
  fs::remove(opening);
  BOOST_REQUIRE(::mkfifo(opening.c_str(), 0600) == 0);
  check_named("expected a file, got a FIFO");
  fs::remove(opening);
  fs::create_directory(opening);
  check_named("expected a file, got a folder");
  fs::remove(opening);
  fs::create_symlink("minibatch-64.json", opening);  // no user can open it
  check_named("Too many levels of symbolic links");
  fs::remove(opening);
  test::write_file(opening, "{\"centre\":{\"lr\":0.1},\"most_steps\":2147483647}");
  SweepView(store).advance();
  fs::remove(opening);
  SweepView view(store);
  view.advance();
  BOOST_TEST(view.plan().waiting().size() == 2u);
}

BOOST_FIXTURE_TEST_CASE(numbers_of_a_sweep_have_bounds, StoreFixture) {
  open_sweep(store, definition);
  const auto whole = kept();
  const auto refuse = [&](const char* key, const nlohmann::json& value, const char* expected) {
    auto changed = whole;
    changed[key] = value;
    test::write_file(file, changed.dump());
    BOOST_CHECK_EXCEPTION(read_sweep(store), Error, test::says("sweep.json: ", expected));
  };
  refuse("trials", 1'000'000'000, "--trials: expected a whole number in [1, 1000], got 1000000000");
  refuse("seeds", 1'000'000'000, "--seeds: expected a whole number in [1, 1000], got 1000000000");
  refuse("seeds", 0, "--seeds: expected");
  refuse("first_seed", -1, "--seed: expected");
  refuse("minibatches", {128, 64}, "--grid: expected a whole number in [129, 2147483647], got 64");
  refuse("minibatches", nlohmann::json::array(), "--grid, the number of minibatches");
  refuse("cap", 0, "--cap: expected a number above 0");
  SweepFlags flags;
  flags.grid = "minibatch=64";
  flags.search = {"lr=x0.5:2"};
  const std::vector<std::string> words = {"--dataset", "glyphs", "--target", "error=45%", "--validation", "500"};
  const auto define = [&] { define_sweep(find_recipe("mlp_mnist"), flags, words, 1); };
  flags.trials = 1'000'000'000;
  BOOST_CHECK_EXCEPTION(define(), UsageError, test::says("--trials: expected a whole number in [1, 1000]"));
  flags.points = "even";
  BOOST_CHECK_EXCEPTION(define(), UsageError, test::says("--trials: expected a whole number in [1, 1000]"));
  flags = {.grid = "minibatch=64", .search = {}};
  flags.seeds = 1'000'000'000;
  BOOST_CHECK_EXCEPTION(define(), UsageError, test::says("--seeds: expected a whole number in [1, 1000]"));
}

BOOST_FIXTURE_TEST_CASE(a_sweep_of_another_build_is_refused_by_name, StoreFixture) {
  BOOST_TEST(definition.commit == source_commit());
  SweepDefinition other = definition;
  other.commit = "0123456789ab";
  open_sweep(directory / "unknown", definition);
  fs::create_directories(store);
  test::write_file(file, definition_json(other));
  BOOST_CHECK_EXCEPTION(open_sweep(store, definition), Error,
                        test::says("the commit of this program differs", "expected: 0123456789ab",
                                   std::string("got:      ") + source_commit()));
  BOOST_CHECK_THROW(check_build(read_sweep(store), "x"), Error);
  other = definition;
  other.compiler = "another";
  test::write_file(file, definition_json(other));
  BOOST_CHECK_EXCEPTION(open_sweep(store, definition), Error, test::says("the compiler of this program differs"));
  auto unknown = nlohmann::ordered_json::parse(definition_json(definition));
  unknown.erase("commit");
  unknown.erase("compiler");
  test::write_file(file, unknown.dump());
  BOOST_TEST(open_sweep(store, definition).commit == source_commit());
}

BOOST_FIXTURE_TEST_CASE(a_sweep_of_another_build_is_passed_over_with_a_word, StoreFixture) {
  const InFolder here(directory.path());
  std::vector<std::string> said;
  const auto folder_of = [&](const SweepDefinition& asked) {
    said.clear();
    return default_sweep_folder(asked, [&](const std::string& line) { said.push_back(line); });
  };
  const fs::path begun = "runs/sweep-mlp_mnist-20200101-000000";
  fs::create_directories(begun);
  SweepDefinition other = definition;
  other.commit = "0123456789ab";
  test::write_file(begun / "sweep.json", definition_json(other));
  const fs::path fresh = folder_of(definition);
  BOOST_TEST(!fs::exists(fresh));
  const std::string expected =
      "NOTE: runs/sweep-mlp_mnist-20200101-000000 is passed over: another build began this "
      "sweep, of commit 0123456789ab; this program is of ";
  BOOST_TEST(said == std::vector<std::string>{expected + source_commit()});
  other.point_seed = 7;  // no note speaks of another sweep
  test::write_file(begun / "sweep.json", definition_json(other));
  BOOST_TEST((folder_of(definition) != begun));
  BOOST_TEST(said.empty());
  test::write_file(begun / "sweep.json", definition_json(definition));
  BOOST_TEST((folder_of(definition) == begun));
  BOOST_TEST(said.empty());
}

BOOST_FIXTURE_TEST_CASE(runs_that_cannot_be_read_are_left_out_of_a_study, StoreFixture) {
  open_sweep(store, definition);
  SweepView(store).advance();
  write_run("kn64-p00", 80, 100);
  write_run("kn64-p01", 90, 100);
  BOOST_TEST(read_store(store).trials.size() == 2u);
  const auto is_left_out = [&](const std::string& why) {
    const StoreRuns runs = read_store(store);
    BOOST_TEST(runs.trials.size() == 1u);
    BOOST_TEST(test::contains(runs.left_out.at(0), "kn64-p01 is left out: " + why));
  };
  write_run("kn64-p01", 90, 100, 0.9);
  is_left_out("expected a run to error=0.45 with all of its evaluations, got one whose evaluations reach it never and");
  write_run("kn64-p01", 90, 100);
  test::write_file(store / "kn64-p01" / "metrics.jsonl", "\1\2 random bytes \xff");
  is_left_out("expected a run to error=0.45 with all of its evaluations");
  nlohmann::json missed = nlohmann::json::parse(test::read_file(store / "kn64-p01" / "manifest.json"));
  missed["ended"]["how"] = "finished";
  missed["result"].erase("target_step");
  test::write_file(store / "kn64-p01" / "manifest.json", missed.dump());
  is_left_out("expected metrics.jsonl with the evaluation after the last of 100 steps, got none");
  fs::remove(store / "kn64-p01" / "metrics.jsonl");
  fs::create_directory(store / "kn64-p01" / "metrics.jsonl");
  const StoreRuns results = read_store(store);
  BOOST_TEST(results.trials.size() == 1u);
  BOOST_REQUIRE(results.left_out.size() == 1u);
  BOOST_TEST(test::contains(results.left_out.front(), "kn64-p01 is left out: cannot read"));
  for (const int64_t step : {int64_t{-1}, int64_t{0}, int64_t{101}, int64_t{1'000'000'000'000'000'000}}) {
    write_run("kn64-p00", step, 100);
    BOOST_CHECK_EXCEPTION(read_manifest(store / "kn64-p00"), Error,
                          test::says("result.target_step", "a whole number in [1, 100]"));
    const StoreRuns without = read_store(store);
    BOOST_TEST(without.trials.empty());
    BOOST_TEST(without.left_out.size() == 2u);
  }
  write_run("kn64-p00", 1, 1'000'000'000'000'000'000);
  BOOST_CHECK_THROW(read_manifest(store / "kn64-p00"), Error);
}

// Such a folder would decide which rate is the best one, and when other trials are hopeless.
BOOST_FIXTURE_TEST_CASE(a_run_of_another_trial_or_sweep_counts_for_nothing, StoreFixture) {
  open_sweep(store, definition);
  SweepView(store).advance();
  write_run("kn64-p00", 80, 100);
  const auto check_foreign = [&](const nlohmann::json& flags, const std::string& why) {
    write_run("kn64-p01", 9, 9, 0.001, flags);
    SweepView view(store);
    view.refresh();
    BOOST_TEST((view.plan().find("kn64-p01")->state == TrialState::foreign));
    BOOST_TEST(view.plan().minibatches[0].best.value() == 0u);
    BOOST_TEST(foreign_runs(view) == std::vector<std::string>{(store / "kn64-p01").string() + " is left out: " + why});
    const StoreRuns runs = read_store(store);
    BOOST_TEST(runs.trials.size() == 1u);
    BOOST_TEST(runs.left_out == foreign_runs(view));
  };
  check_foreign({{"minibatch", 512}}, "expected a run of minibatch 64, got one of minibatch 512");
  check_foreign({{"seed", 7}}, "expected a run of seed 1, got one of seed 7");
  check_foreign({{"target", "error=0.6"}}, "expected a run of --target error=0.45, got one of --target error=0.6");
  check_foreign({{"target", ""}}, "expected a run of --target error=0.45, got one of --target none");
  check_foreign({{"lr", 9}},
                fmt::format("expected a run of --lr {}, got one of --lr 9", planned("kn64-p01").values["lr"]));
  write_run("kn64-p01", 70, 100, 0.001, {{"target", "error=45%"}});
  BOOST_TEST(read_store(store).trials.size() == 2u);
}

BOOST_FIXTURE_TEST_CASE(the_index_has_no_metric_of_a_trial_that_has_not_begun, StoreFixture) {
  open_sweep(store, definition);
  SweepView view(store);
  view.advance();
  BOOST_TEST(SweepIndex().write(view) == "");
  sqlite3* database = nullptr;
  BOOST_REQUIRE(sqlite3_open((store / kIndexFile).c_str(), &database) == SQLITE_OK);
  const auto take = [](void* to, int, char** values, char**) {
    *static_cast<std::string*>(to) += values[0] ? values[0] : "null ";
    return 0;
  };
  std::string metrics;
  BOOST_TEST(sqlite3_exec(database, "SELECT metric FROM trials", take, &metrics, nullptr) == SQLITE_OK);
  sqlite3_close(database);
  BOOST_TEST(metrics == "null null ");
}

BOOST_FIXTURE_TEST_CASE(a_process_that_has_nothing_to_do_says_for_whom_it_waits, StoreFixture) {
  open_sweep(store, definition);
  SweepView view(store);
  view.advance();
  ClaimFolder claims(store / "claims", 60s);
  for (const PlannedTrial* trial : view.plan().waiting())
    test::write_file(store / "claims" / (trial->name + ".1"),
                     R"({"host":"far","pid":1,"process_start":"1","system":"another","lease_ms":60000})");
  const Recipe recipe = find_recipe("mlp_mnist");
  SweepIndex index;
  std::vector<std::string> said;
  const std::unique_ptr<TrialSource> source =
      make_sweep_source(recipe, view, claims, index, [&](const std::string& line) { said.push_back(line); });
  for (const Trial& trial : source->ready()) BOOST_TEST(!source->take(trial));
  for (int look = 0; look < 3; ++look) BOOST_TEST(!source->is_done());
  BOOST_TEST(said == std::vector<std::string>{"waiting for kn64-p00, held by far"});
  fs::remove(store / "claims" / "kn64-p00.1");
  const Trial free = source->ready().front();
  BOOST_TEST(source->take(free));
  BOOST_TEST(!source->is_done());
  BOOST_TEST(said.size() == 1u);
  source->ended(free, {TrialEnd::stopped});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::sweep_store_test
