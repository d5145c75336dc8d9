#include "tests/gpu/checks/recipe_run.h"

#include <boost/test/unit_test.hpp>

#include "recipes/config/run_task.h"
#include "recipes/run/resume.h"
#include "recipes/run/run_observer.h"
#include "recipes/train/train.h"
#include "tests/recipes/small_run.h"

namespace kb::test {

Recipe on_noise(Recipe recipe, ImageShape shape, int64_t test_count) {
  recipe.defaults.dataset = "synthetic";
  recipe.synthetic = {shape, 10, 64, test_count};
  return recipe;
}

Outcome train(Backend& backend, const Recipe& recipe, const std::vector<std::string>& words,
              const std::filesystem::path& folder_path, const std::filesystem::path& from) {
  World world(make_local_communicator());
  return train(backend, world, recipe, words, folder_path, from);
}

namespace {

// A run that records its events in a folder, if it leads, and goes on from a checkpoint, if one is named.
class RecordedRun : public RunObserver {
 public:
  RecordedRun(const Recipe& recipe, const RunConfig& config, const DataFacts& data, std::filesystem::path folder,
              std::filesystem::path from)
      : RunObserver(true, false, std::chrono::steady_clock::now()),
        recipe_(recipe),
        config_(config),
        data_(data),
        path_(std::move(folder)),
        from_(std::move(from)) {}

  bool ready(const Ready& ready, LoopStart& start) override {
    StateStore& store = ready.programs.store;
    const std::map<std::string, std::string> facts = checkpoint_facts(recipe_, config_, ready.programs, data_);
    if (!from_.empty()) {
      const Checkpoint checkpoint = read_checkpoint(from_);
      check_belongs(recipe_, checkpoint, facts);
      start.step = checkpoint.step;
      start.load_state = [this, &store] { load_checkpoint(store, read_checkpoint(from_)); };
      start.load_state();
    }
    World& world = ready.machine.world;
    const auto say = [](const std::string&) {};
    std::unique_ptr<RunRecord> record;
    if (world.leads()) {
      folder_.emplace(recipe_.name, path_.string());
      record = std::make_unique<RunRecord>(*folder_, false, start.step, store, Hyperparameters{}, facts,
                                           config_.out.keep, say);
    }
    open(std::move(record),
         StepPicture(recipe_, config_, ready.machine.backend.description(), world, console_, start.step,
                     ready.settled.plan.steps),
         MlperfLog(), false);
    return true;
  }

 private:
  const Recipe& recipe_;
  const RunConfig& config_;
  const DataFacts& data_;
  const std::filesystem::path path_, from_;
  std::optional<RunFolder> folder_;
};

}  // namespace

Outcome train(Backend& backend, World& world, const Recipe& recipe, const std::vector<std::string>& words,
              const std::filesystem::path& folder_path, const std::filesystem::path& from) {
  RunConfig config = *parse_flags(recipe, recipe.name, words);
  config.arithmetic.shards = 2;
  config.machine.processes = world.size();
  const LoadedTask loaded = load_task(recipe, config);
  std::vector<NamedTensor> state;
  {
    RecordedRun run(recipe, config, loaded.data, folder_path, from);
    state = kb::train(loaded.task, config, {backend, world, config.machine}, run).state.tensors;
  }
  return {world.leads() ? lines_of(folder_path) : std::vector<nlohmann::json>(), std::move(state), folder_path};
}

void check_lines(const Outcome& expected, const Outcome& got, double bound) {
  BOOST_REQUIRE(expected.lines.size() == got.lines.size());
  for (size_t i = 0; i < got.lines.size(); ++i) {
    const auto &a = expected.lines[i], &b = got.lines[i];
    BOOST_TEST(a.at("kind") == b.at("kind"));
    for (const char* key : {"step", "epoch", "lr", "count"})
      if (a.contains(key)) BOOST_TEST(a.at(key) == b.at(key), "line " << i << " " << key);
    if (a.contains("error"))
      BOOST_TEST(std::abs(a["error"].get<double>() - b.at("error").get<double>()) <= 100 * bound);
    if (a.contains("loss")) {
      const double x = a.at("loss").get<double>(), y = b.at("loss").get<double>();
      BOOST_TEST(std::abs(x - y) <= bound * std::max(1.0, std::abs(x)),
                 "line " << i << ": loss " << x << ", got " << y);
    }
  }
}

}  // namespace kb::test
