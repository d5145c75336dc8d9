// A run, a study and a sweep's index name the part of the data, valid or test, on which a figure was measured.
#include <sqlite3.h>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "recipes/papers/table.h"
#include "recipes/run/run_texts.h"
#include "recipes/sweep/sweep_index.h"
#include "recipes/sweep/sweep_trials.h"
#include "recipes/trials/run_study.h"
#include "tests/support/support.h"

namespace kb::part_names_test {
namespace {

namespace fs = std::filesystem;

// Writes the folder of a run that ended with an error of 25 % on `part`.
void write_ended_run(const fs::path& run, const std::string& how, const std::string& part) {
  nlohmann::json result = {{"error", 0.25}, {"loss", 1.5}, {"part", part}, {"diverged", how == "diverged"}};
  if (how == "target") result.update({{"target_step", 80}, {"target_samples", 5120.0}});
  const nlohmann::json manifest = {{"recipe", "mlp_mnist"},
                                   {"seed", 1},
                                   {"steps", 100},
                                   {"steps_per_epoch", 10},
                                   {"flags", {{"minibatch", 64}, {"lr", 0.1}}},
                                   {"goal", {{"name", "error"}, {"is_share", true}, {"higher_is_better", false}}},
                                   {"ended", {{"how", how}, {"step", 100}}},
                                   {"result", result}};
  fs::create_directories(run);
  test::write_file(run / "manifest.json", manifest.dump());
  test::write_file(run / "metrics.jsonl", "");
}

fs::path small_store(const fs::path& folder) {
  SweepFlags flags;
  flags.grid = "minibatch=64";
  flags.search = {"lr=x0.5:2"};
  flags.trials = 1;
  open_sweep(folder, define_sweep(find_recipe("mlp_mnist"), flags,
                                  {"--dataset", "glyphs", "--target", "error=45%", "--validation", "500"}, 1));
  SweepView(folder).advance();
  return folder;
}

// Returns the columns test and loss of a trial in the store's index, "-" for null.
std::string tested_in_index(const fs::path& store, const std::string& trial) {
  SweepView view(store);
  view.refresh();
  BOOST_TEST(SweepIndex().write(view) == "");
  sqlite3* database = nullptr;
  BOOST_REQUIRE(sqlite3_open_v2((store / kIndexFile).c_str(), &database, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK);
  const auto take = [](void* to, int, char** values, char**) {
    for (const char* value : {values[0], values[1]})
      static_cast<std::string*>(to)->append(value ? value : "-").append(" ");
    return 0;
  };
  std::string cells;
  const std::string query = "SELECT test, loss FROM trials WHERE name = '" + trial + "'";
  BOOST_TEST(sqlite3_exec(database, query.c_str(), take, &cells, nullptr) == SQLITE_OK);
  sqlite3_close(database);
  return cells;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(part_names)

BOOST_AUTO_TEST_CASE(averaged_parameters_are_told_by_the_part_of_the_others) {
  const auto with_error = [](double error, double loss) {
    return Evaluation{loss, 40, {{"error", error, {.is_share = true}}}};
  };
  LoopResult result;
  result.part = kValidPart;
  BOOST_TEST(final_lines(result).empty());
  result.averaged = with_error(0.2, 0.25);
  result.evaluation = with_error(0.25, 0.5);
  BOOST_TEST(final_lines(result) ==
             (std::vector<std::string>{"", "valid error 25.00 % (10 of 40), valid loss 0.5000",
                                       "valid error 20.00 % of the averaged parameters, valid loss 0.2500"}));
  result.part = kTestPart;
  result.averaged.reset();
  BOOST_TEST(final_lines(result) == (std::vector<std::string>{"", "test error 25.00 % (10 of 40), test loss 0.5000"}));
}

BOOST_AUTO_TEST_CASE(a_study_tells_each_training_by_its_part) {
  const test::TemporaryDirectory directory;
  for (const char* part : {"valid", "test"}) {
    write_ended_run(directory / part, "finished", part);
    BOOST_TEST(outcome_text(directory / part, {TrialEnd::trained}) == std::string(part) + " error 25.00 %");
  }
}

// A trial that diverged, and one of a task without a test part, end with figures of the samples held out, which the
// index leaves out.
BOOST_AUTO_TEST_CASE(an_index_has_figures_of_the_test_part_alone) {
  const test::TemporaryDirectory directory;
  const fs::path store = small_store(directory / "store");
  const std::string trial = "kn64-p00";
  write_ended_run(store / trial, "target", "test");
  BOOST_TEST(tested_in_index(store, trial) == "0.25 1.5 ");
  for (const char* how : {"target", "diverged"}) {
    write_ended_run(store / trial, how, "valid");
    BOOST_TEST(tested_in_index(store, trial) == "- - ");
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::part_names_test
