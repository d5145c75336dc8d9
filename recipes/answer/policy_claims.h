// Judges claims of papers about training with fewer synchronisations by studies of several policies. Steps and virtual
// times are compared in logarithms, at the best rate of each minibatch, all seeds at one look; a run that missed the
// target is ranked last (recipes/trials/verdict.h).
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "recipes/answer/named_study.h"
#include "recipes/trials/judged_claim.h"

namespace kb {

// Runs at one minibatch, one rate and one setting.
struct PolicyPoint {
  int64_t minibatch = 0;
  const RateResult* runs = nullptr;
  double steps = 0;  // mean steps to the target, as rates are compared (compared_steps); infinity: it does not count

  const PolicyFlags& policy() const { return runs->policy; }
  int64_t workers() const { return policy().workers(minibatch); }
};

// The runs of several studies by what kept their workers alike.
class PolicyPoints {
 public:
  // `studies` must outlive this object.
  explicit PolicyPoints(const std::vector<NamedStudy>& studies);

  // Returns the point of a role at a minibatch: of the study with the fewest steps there; null if none was trained.
  const PolicyPoint* best(const PolicyRole& role, int64_t minibatch) const;
  // Returns the minibatches at which a role was trained.
  std::set<int64_t> minibatches(const PolicyRole& role) const;
  // Returns the largest minibatch at which all roles were trained; nothing if there is none.
  std::optional<int64_t> largest_common(const std::vector<PolicyRole>& roles) const;
  // Returns why roles have no minibatch in common: "no runs of --policy backup".
  std::string missing(const std::vector<PolicyRole>& roles) const;
  // Returns of how many tried rates and settings each of these points is the best, ", best of 6 and 1 settings": luck
  // favours the policy that tried more. Returns "" if all are the only ones.
  std::string choice_text(const std::vector<std::pair<PolicyRole, int64_t>>& chosen) const;
  // Returns the points of all rates and settings that were tried.
  const std::vector<PolicyPoint>& tried() const { return tried_; }

 private:
  std::vector<PolicyPoint> best_, tried_;
};

// Returns all claims of recipes/trials/judged_claim.h, in their order. A claim whose runs are missing is not tested
// and says which they are; those about final errors are left to `./run compare`. A policy's runs may lie in several
// studies: the one with the fewest steps at a minibatch counts. Each is judged at the largest minibatch that all of its
// policies have.
std::vector<JudgedClaim> policy_claims(const std::vector<NamedStudy>& studies);

}  // namespace kb
