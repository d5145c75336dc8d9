// Performance profiles of several sweeps that were taken to the same targets (Dolan and More 2002; Dahl et al. 2023,
// arXiv 2306.07179, for optimizers): which share of the pairs of a minibatch and a target a sweep solves within a
// factor of the fewest steps of all sweeps. At one minibatch, a factor of steps is one of samples. Pairs count that all
// sweeps trained: one that a sweep did not try says nothing of it.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "recipes/answer/targets_answer.h"

namespace kb {

inline constexpr double kProfileFactors[] = {1, 1.5, 2, 4};

struct ProfileRow {
  std::string name;                 // name of the sweep
  size_t solved = 0;                // number of the pairs that it solves
  std::vector<double> shares = {};  // one for each of kProfileFactors: shares of the pairs
};

struct PerformanceProfile {
  size_t pairs = 0;              // number of pairs that all sweeps trained and some sweep solves
  std::vector<ProfileRow> rows;  // one for each sweep
  // Pairs that are left out, by the sweep that did not train them: "b: minibatch 256, 512 to loss=1.2".
  std::vector<std::string> untrained = {};
};

// Returns the profile. Throws Error if the sweeps differ in the figure of their targets or in their data.
PerformanceProfile performance_profile(std::span<const TargetsAnswer> sweeps);

std::string profile_text(const PerformanceProfile& profile);
std::string profile_csv(const PerformanceProfile& profile);  // columns: name, solved, pairs, within_1, within_1.5, ..
std::string profile_json(const PerformanceProfile& profile, const std::string& command);

}  // namespace kb
