// Final errors of runs under several policies (--policy), and the claims of papers that they judge.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "recipes/compare/report_runs.h"
#include "recipes/trials/judged_claim.h"
#include "recipes/trials/policy_flags.h"
#include "recipes/trials/summary.h"

namespace kb {

// Runs that differ by their seeds alone.
struct PolicyGroup {
  PolicyFlags policy;
  int64_t minibatch = 0;
  std::optional<double> rate = {};  // learning rate after the warmup
  std::string length = {};          // planned length: "12 epochs", "500 steps"
  Summary summary = {};             // its runs, which are done
};

struct PolicyGroups {
  std::vector<PolicyGroup> groups;    // by minibatch, then in the order of their first runs
  std::vector<std::string> left_out;  // runs that have no final error: not done, or ended at a target; and why
};

// Returns the groups. Throws Error if runs differ in recipe, data, or the metric or part of the data of their errors.
PolicyGroups policy_groups(const std::vector<ReportedRun>& runs);

// Returns a table with a line for each group: policy, minibatch, learning rate, length, number of runs, final error.
std::string groups_text(const std::vector<PolicyGroup>& groups);

// Returns the claims about final errors, judged at the largest minibatch that their policies have in groups of one
// length. From several groups of a policy, such as of several rates, the one with the least mean is taken, of those in
// which at most half of the runs diverged and that have more than half as many others as the one with most. All seeds
// are judged at one look.
std::vector<JudgedClaim> error_claims(const std::vector<PolicyGroup>& groups);

}  // namespace kb
