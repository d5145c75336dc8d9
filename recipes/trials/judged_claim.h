// Claims of papers beside what was measured here: their text, table and JSON.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "recipes/trials/policy_flags.h"
#include "recipes/trials/verdict.h"
#include "runtime/json.h"

namespace kb {

struct JudgedClaim {
  std::string claim;           // statement in words
  std::string paper;           // figures in the paper
  std::string ours = {};       // figures here; if the claim cannot be tested, the reason
  std::string criterion = {};  // condition under which the claim holds here
  Evidence evidence = {};
  bool is_ratio = false;  // true if the evidence compares logarithms, so that its difference is that of a ratio
};

// Returns the difference, or the ratio, with its interval and the number of seeds: "-1.20 (-1.50 to -0.90), 3 seeds",
// "x 0.78 (0.71 to 0.86), 3 seeds".
std::string evidence_text(const Evidence& evidence, bool is_ratio);

// Returns the verdict, the statement, the paper's figures and ours of each, on lines of at most 79 columns.
std::string claims_text(const std::vector<JudgedClaim>& claims);
std::string claims_table(const std::vector<JudgedClaim>& claims);  // returns HTML
Json claims_json(const std::vector<JudgedClaim>& claims);          // returns an array

// Claims about training with fewer synchronisations. Those about steps and virtual time are judged by studies
// (recipes/answer/policy_claims.h), those about final errors by runs (recipes/compare/error_claims.h).
enum class PolicyClaim : uint8_t {
  post_local,      // Lin et al. 2020
  slow_momentum,   // Ortiz et al. 2021
  outer_nesterov,  // Charles et al. 2025, the minibatch
  outer_rate,      // Charles et al. 2025, the outer rate
  backups,         // Chen et al. 2016
  stale_rate,      // Zhang et al. 2015
  momentum         // Mitliagkas et al. 2016
};

// Returns the claim with the paper's figures and the criterion, not tested yet.
JudgedClaim stated(PolicyClaim claim);

// A policy that a claim is about: the flags that ask for it, and whether a run had it.
struct PolicyRole {
  const char *name, *flags;
  bool (*is)(const PolicyFlags&);
};
// Returns which roles none of the trained policies has: "no runs of backup workers (--policy backup)"; `otherwise` if
// there is no such role.
std::string missing_text(const std::vector<PolicyRole>& roles, std::span<const PolicyFlags> trained,
                         const std::string& otherwise);

}  // namespace kb
