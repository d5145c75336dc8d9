// The local critical minibatch of a run, from a command line to its answer: flags, branches that are trained side by
// side, and what they tell.
#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "recipes/answer/branches_answer.h"
#include "recipes/config/command_line.h"

namespace kb {

inline constexpr const char* kBranchesFlag = "--branches";

// The flags of such a study as texts; those but --branches are empty where they are not given.
struct BranchesFlags {
  std::string branches, window, factors, rule, tolerance, loss;
  std::optional<int64_t> per_worker, jobs;

  // Declares the flags on a command line, which must not outlive this object.
  void declare(CommandLine& line);
  bool is_given() const { return !branches.empty(); }
  // Throws UsageError for a flag that only --branches reads, without it.
  void check_together() const;
};

struct MeasuredBranches {
  std::filesystem::path folder;          // of the branches, and of the answer
  std::optional<BranchesAnswer> answer;  // nothing: a signal stopped the study, or a branch failed
  int exit_code = 0;                     // without an answer
};

// Trains the branches that are not done, each in a process of its own, and answers. `out`: the folder; empty:
// RUN/branches. Prints its progress. Throws UsageError or Error for flags, runs and places that do not go together.
MeasuredBranches measure_branches(const BranchesFlags& flags, const std::string& out);

}  // namespace kb
