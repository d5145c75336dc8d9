// Trains a recipe on a given backend, as its program does, and compares two runs: for tests of a GPU, real or fake,
// beside the CPU.
#pragma once
#include <nlohmann/json.hpp>

#include "recipes/task/model.h"
#include "recipes/train/world.h"
#include "runtime/state_store.h"

namespace kb::test {

// Returns the recipe on noise of 64 samples with labels of 10 classes, which is enough for a loader and evaluations.
Recipe on_noise(Recipe recipe, ImageShape shape, int64_t test_count);

struct Outcome {
  std::vector<nlohmann::json> lines;  // the lines of metrics.jsonl
  std::vector<NamedTensor> state;
  std::filesystem::path folder;
};

// Trains with the flags in `words` into a new folder, from the checkpoint `from` if it is given.
Outcome train(Backend& backend, const Recipe& recipe, const std::vector<std::string>& words,
              const std::filesystem::path& folder_path, const std::filesystem::path& from = {});

// Trains as one of the processes of a run; only the first one writes the folder.
Outcome train(Backend& backend, World& world, const Recipe& recipe, const std::vector<std::string>& words,
              const std::filesystem::path& folder_path, const std::filesystem::path& from = {});

// Compares lines in order. Losses may differ by `bound` times the greater of themselves and 1; errors, which count
// images, by 100 times as much.
void check_lines(const Outcome& expected, const Outcome& got, double bound);

}  // namespace kb::test
