// Judges claims of papers about training with fewer synchronisations by studies of several policies. Steps and virtual
// times are compared in logarithms, at the best rate of each minibatch, all seeds at one look; a run that missed the
// target is ranked last (recipes/trials/verdict.h).
#pragma once
#include <vector>

#include "recipes/answer/named_study.h"
#include "recipes/trials/judged_claim.h"

namespace kb {

// Returns all claims of recipes/trials/stated_claims.h, in their order. A claim whose runs are missing is not tested
// and says which they are; those about final errors are left to `./run compare`. A policy's runs may lie in several
// studies: the one with the fewest steps at a minibatch counts. Each is judged at the largest minibatch that all of its
// policies have.
std::vector<JudgedClaim> policy_claims(const std::vector<NamedStudy>& studies);

}  // namespace kb
