// A recipe of milliseconds - batch norm, so running statistics too - and what tests ask of the runs it leaves.
#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "recipes/task/model.h"

namespace kb::test {

// 100 samples of 2x4x4 in 3 classes; 37 to test: no whole number of minibatches. 2 epochs of 10 steps.
Recipe small_recipe();

// Its program's exit code; "--quiet" goes before the words.
int run(std::vector<std::string> words, const Recipe& recipe = small_recipe());
int run(const std::filesystem::path& out, std::vector<std::string> words, const Recipe& recipe = small_recipe());

std::vector<nlohmann::json> lines_of(const std::filesystem::path& out);
std::vector<nlohmann::json> of_kind(const std::vector<nlohmann::json>& lines, const std::string& kind);
// All that a run computed, times left out.
std::string trace(const std::filesystem::path& out);
// Returns the state's hash in the run's last line; empty if the run has not ended.
std::string state_sha256(const std::filesystem::path& out);

}  // namespace kb::test
