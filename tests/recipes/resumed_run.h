// A small run with a checkpoint after each step, and its folder as the run leaves it when its process dies.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "tests/recipes/small_run.h"
#include "tests/support/support.h"

namespace kb::test {

std::string checkpoint_name(int64_t step);
std::filesystem::path checkpoint_of(const std::filesystem::path& out, int64_t step);

// Returns the message of the error that opening the run throws.
std::string complaint(const std::filesystem::path& out, std::vector<std::string> words = {},
                      const Recipe& recipe = small_recipe());

struct ResumedRun {
  TemporaryDirectory directory;
  const std::filesystem::path whole = directory / "whole", out = directory / "run";

  // Trains 20 steps with a checkpoint after each into `whole`.
  void train(std::vector<std::string> words = {}) const;
  // Makes `out` the folder that a run as in `whole` leaves if its process dies after `step` steps, in the middle of the
  // next save.
  void die_after(int64_t step) const;
};

}  // namespace kb::test
