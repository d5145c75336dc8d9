#include "tests/gpu/checks/recipe_run.h"

#include <boost/test/unit_test.hpp>

#include "recipes/config/learning.h"
#include "recipes/config/run_task.h"
#include "recipes/run/resume.h"
#include "recipes/run/run_observer.h"
#include "recipes/train/device.h"
#include "recipes/train/programs.h"
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

Outcome train(Backend& backend, World& world, const Recipe& recipe, const std::vector<std::string>& words,
              const std::filesystem::path& folder_path, const std::filesystem::path& from) {
  RunConfig config = *parse_flags(recipe, recipe.name, words);
  config.arithmetic.shards = 2;
  config.machine.processes = world.size();
  const LoadedTask loaded = load_task(recipe, config);
  const Task& task = loaded.task;
  const RunPlan plan = make_plan(config, task.train_count);
  const Residency residency = choose_residency(config, task, backend.target(), backend.memory_bytes());
  const auto compile = [&] { return compile_programs(task, config, backend.target(), residency); };
  LoadedPrograms programs(backend, compile_alike(world, backend, compile),
                          static_cast<uint32_t>(config.arithmetic.seed));
  const std::map<std::string, std::string> facts = checkpoint_facts(recipe, config, programs, loaded.data);
  LoopStart start;
  if (!from.empty()) {
    const Checkpoint checkpoint = read_checkpoint(from);
    check_belongs(recipe, checkpoint, facts);
    load_checkpoint(programs.store, checkpoint);
    start.step = checkpoint.step;
  }
  std::optional<RunFolder> folder;
  if (world.leads()) folder.emplace(recipe.name, folder_path.string());
  Console console(true);
  {
    const auto say = [](const std::string&) {};
    RunRecord record =
        folder ? RunRecord(*folder, false, start.step, programs.store, {}, facts, config.out.keep, say) : RunRecord();
    const StepPicture picture(recipe, config, backend.description(), world, console, start.step, plan.steps);
    MlperfLog log;
    RunObserver observer(console, record, picture, log, std::chrono::steady_clock::now());
    const auto reload = [&] {
      if (!from.empty()) load_checkpoint(programs.store, read_checkpoint(from));
    };
    run_loop(
        {task, config, plan, {backend, world}, programs, choose_loader_threads(config, world.processors()), reload},
        start, observer);
  }
  return {folder ? lines_of(folder_path) : std::vector<nlohmann::json>(), programs.store.canonical(), folder_path};
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
