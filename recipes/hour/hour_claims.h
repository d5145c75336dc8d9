// Statements of the papers, held against the trainings of `hour`.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "recipes/hour/hour_plan.h"
#include "recipes/trials/summary.h"

namespace kb {

enum class Verdict : uint8_t { held, not_held, not_tested };

struct HourClaim {
  std::string claim;      // in words
  std::string paper;      // figures there
  std::string ours;       // figures here; why it is not tested
  std::string criterion;  // under which it holds here, in points of the error in %
  Verdict verdict = Verdict::not_tested;
};

const char* text_of(Verdict verdict);  // "held", "not held", "not tested"

// `arms`: by their names; those that are missing make claims untested.
std::vector<HourClaim> hour_claims(HourPlan plan, const std::map<std::string, Summary>& arms);

}  // namespace kb
