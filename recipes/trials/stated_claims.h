// Claims of papers about training with fewer synchronisations, before they are judged. Those about steps and virtual
// time are judged by studies (recipes/answer/policy_claims.h), those about final errors by runs
// (recipes/compare/error_claims.h).
#pragma once
#include <cstdint>

#include "recipes/trials/judged_claim.h"

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

}  // namespace kb
