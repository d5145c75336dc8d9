// Claims of papers about training with fewer synchronisations, before they are judged. Those about steps and virtual
// time are judged by studies (recipes/answer/policy_claims.h), those about final errors by runs
// (recipes/compare/error_claims.h).
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "recipes/trials/judged_claim.h"
#include "recipes/trials/policy_flags.h"

namespace kb {

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
