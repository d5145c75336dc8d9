// A recipe that trains in milliseconds, with batch norm and so with running statistics, and what tests ask about the
// runs that it leaves.
#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "recipes/task/model.h"

namespace kb::test {

// The recipe has 100 training samples of 2x4x4 in 3 classes, 2 epochs of 10 steps, and 37 samples to test, which are no
// whole number of minibatches.
Recipe small_recipe();

// Runs the recipe's program with "--quiet" before the words, and returns its exit code.
int run(std::vector<std::string> words, const Recipe& recipe = small_recipe());
int run(const std::filesystem::path& out, std::vector<std::string> words, const Recipe& recipe = small_recipe());

std::vector<nlohmann::json> lines_of(const std::filesystem::path& out);
std::vector<nlohmann::json> of_kind(const std::vector<nlohmann::json>& lines, const std::string& kind);
// Returns the lines of a run's metrics without their times: all that the run computed.
std::string trace(const std::filesystem::path& out);
// Returns the state's hash in the run's last line; empty if the run has not ended.
std::string state_sha256(const std::filesystem::path& out);

}  // namespace kb::test
