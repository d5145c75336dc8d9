#include "tests/recipes/small_sweep.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "recipes/sweep/sweep_store.h"
#include "recipes/trials/run_reader.h"
#include "tests/recipes/small_run.h"
#include "tests/support/support.h"

namespace kb::test {

namespace fs = std::filesystem;

Words sweep(const fs::path& store, const Words& more) {
  Words words = {KB_BIN "/sweep", "mlp_mnist",   "--dataset",    "glyphs",
                 "--depth",       "1",           "--hidden",     "16",
                 "--epochs",      "2",           "--target",     "error=45%",
                 "--schedule",    "constant",    "--validation", "500",
                 "--eval-every",  "geo:1.2",     "--grid",       "minibatch=64,128",
                 "--search",      "lr=x0.5:2",   "--trials",     "3",
                 "--seeds",       "2",           "--jobs",       "2",
                 "--store",       store.string()};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Words worker(const fs::path& store, const Words& more) {
  Words words = {KB_BIN "/sweep", "--worker", store.string(), "--jobs", "1"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Words with_value(Words words, const std::string& flag, const std::string& value) {
  *std::next(std::find(words.begin(), words.end(), flag)) = value;
  return words;
}

Words without(Words words, const std::string& flag) {
  const auto at = std::find(words.begin(), words.end(), flag);
  words.erase(at, at + 2);
  return words;
}

ProcessResult output_of(const Words& words) {
  const ProcessResult result = Process(words).wait();
  BOOST_TEST_MESSAGE(result.output);
  return result;
}

std::vector<fs::path> runs_in(const fs::path& store) {
  std::vector<fs::path> runs;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(store, error))
    if (fs::exists(entry.path() / "manifest.json")) runs.push_back(entry.path());
  return runs;
}

SweepPlan plan_of(const fs::path& store) {
  SweepView view(store);
  view.refresh();
  return view.plan();
}

const fs::path& undisturbed_sweep() {
  static const TemporaryDirectory directory;
  static const fs::path store = directory / "whole";
  if (!fs::exists(store)) BOOST_REQUIRE(output_of(sweep(store)).status == 0);
  return store;
}

void check_whole(const fs::path& store) {
  const SweepPlan plan = plan_of(store), expected = plan_of(undisturbed_sweep());
  BOOST_TEST(plan.is_done());
  for (size_t i = 0; i < plan.minibatches.size(); ++i) {
    const MinibatchPlan &own = plan.minibatches[i], &other = expected.minibatches[i];
    BOOST_REQUIRE(own.best.has_value());
    BOOST_TEST(own.trials[*own.best].name == other.trials[*other.best].name);
    for (const PlannedTrial& trial : own.trials) {
      BOOST_TEST_CONTEXT(trial.name) {
        BOOST_TEST((trial.state != TrialState::failed));
        if (trial.state == TrialState::hopeless) continue;  // it may have been stopped at another step
        const PlannedTrial* same = expected.find(trial.name);
        BOOST_REQUIRE(same != nullptr);
        if (same->state != TrialState::hopeless)
          BOOST_TEST(state_sha256(store / trial.name) == state_sha256(undisturbed_sweep() / trial.name));
        int64_t step = 0;
        for (const nlohmann::json& line : of_kind(lines_of(store / trial.name), "step"))
          BOOST_REQUIRE(line.at("step") == step++);
      }
    }
  }
}

}  // namespace kb::test
