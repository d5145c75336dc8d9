// A recipe's training on a given backend, as its program does it, and what two such runs are compared by: for tests of
// a GPU, real or fake, beside the CPU.
#pragma once
#include <nlohmann/json.hpp>

#include "recipes/task/model.h"
#include "recipes/train/world.h"
#include "runtime/state_store.h"

namespace kb::test {

// The recipe on noise of 64 samples with labels of 10 classes, so that a loader and evaluations have something to do.
Recipe on_noise(Recipe recipe, ImageShape shape, int64_t test_count);

struct Outcome {
  std::vector<nlohmann::json> lines;  // metrics.jsonl
  std::vector<NamedTensor> state;
  std::filesystem::path folder;
};

// With the flags in `words`, into a new folder; from a checkpoint where there is one.
Outcome train(Backend& backend, const Recipe& recipe, const std::vector<std::string>& words,
              const std::filesystem::path& folder_path, const std::filesystem::path& from = {});

// As one of the processes of a run, whose first alone writes the folder.
Outcome train(Backend& backend, World& world, const Recipe& recipe, const std::vector<std::string>& words,
              const std::filesystem::path& folder_path, const std::filesystem::path& from = {});

// Same lines in the same order; losses differ by at most `bound` times the larger of themselves and 1, errors, which
// count images, by 100 times as much.
void check_lines(const Outcome& expected, const Outcome& got, double bound);

}  // namespace kb::test
