#include "recipes/hour/hour_claims.h"

#include <fmt/format.h>

#include <algorithm>

namespace kb {
namespace {

constexpr const char* kBaseline = "kn32";

// A claim before it is judged. If it cannot be tested at this size, `reference` is empty and `arm` holds the reason.
struct ClaimRow {
  const char *arm, *reference;
  bool is_at_most;  // whether the error is to be at most, not at least, that of the reference plus the margin
  double margin;    // percentage points
  const char *claim, *paper;
};

constexpr ClaimRow kBrief[] = {
    {"kn256-gradual", kBaseline, true, 1, "the linear scaling rule keeps the error of a small minibatch",
     "23.49 at kn 2k, 23.60 at 256 (figure 1)"},
    {"kn256-fixed", kBaseline, false, 1, "without it, at the small minibatch's rate, the error is worse",
     "41.67 at kn 8k, 23.60 at 256 (table 2a)"}};

constexpr ClaimRow kFull[] = {
    {"kn256-gradual", kBaseline, true, 0.5, "the linear scaling rule with gradual warmup keeps the baseline's error",
     "23.49 at kn 2k, 23.60 at 256 (figure 1)"},
    {"kn512-gradual", kBaseline, true, 0.5, "so it does at a minibatch twice as large",
     "23.74 at kn 8k, 23.60 at 256 (table 1)"},
    {"kn512-fixed", kBaseline, false, 1, "at the baseline's rate a large minibatch is worse",
     "41.67 at kn 8k (table 2a)"},
    {"kn512-no-warmup", kBaseline, false, 3, "without warmup it is worse", "24.84 at kn 8k (table 1)"},
    {"kn512-constant", kBaseline, false, 3, "with constant warmup it is worse", "25.88 at kn 8k (table 1)"},
    {"kn1024-gradual", kBaseline, false, 1, "beyond some minibatch the rule breaks",
     "24.79 at kn 16k, 33.96 at 64k (figure 1)"},
    {"kn4096-lars", "kn4096-sgd", true, 0, "layer-wise rates (LARS) train a large minibatch better than plain SGD",
     "You et al. 2017: accuracy of AlexNet at 4k 58.5 % with LARS, 53.1 % without"},
    {"does not show at this size: both diverge or scatter", "", true, 0, "constant warmup is worse than none",
     "25.88 against 24.84 at kn 8k (table 1)"},
    {"does not show at this size", "", true, 0, "the square-root rule is worse than the linear one",
     "26.22 against 23.74 at kn 8k (table 2a)"}};

// Returns the looks of a study that begins with `first_look` seeds: with fewer than kFewestHourLooks there are no
// further ones.
Looks looks_from(size_t first_look) {
  const size_t first = std::max<size_t>(1, first_look);
  return {first, first < kFewestHourLooks ? first : std::max(first, kMostHourSeeds)};
}

// Returns the errors of an arm in per cent, infinity for a run that diverged; nothing if one of its trainings is
// missing.
std::optional<std::vector<double>> errors_of(const std::map<std::string, Summary>& arms, const std::string& name) {
  const auto at = arms.find(name);
  if (at == arms.end() || at->second.failed > 0) return std::nullopt;
  return final_errors(at->second);
}

std::string arm_text(const std::map<std::string, Summary>& arms, const std::string& name) {
  const auto at = arms.find(name);
  if (at == arms.end()) return fmt::format("not trained ({})", name);
  std::string text = goal_text(at->second, at->second.last);
  if (at->second.failed > 0) text += fmt::format(" ({} not trained)", at->second.failed);
  return fmt::format("{} ({})", text, name);
}

HourClaim judged(const ClaimRow& row, const std::map<std::string, Summary>& arms, size_t first_look) {
  HourClaim claim{{row.claim, row.paper}};
  if (*row.reference == '\0') {
    claim.ours = row.arm;
    claim.criterion = "-";
    return claim;
  }
  claim.arm = row.arm;
  claim.reference = row.reference;
  claim.criterion = row.margin == 0 ? fmt::format("{} {}", row.is_at_most ? "below" : "above", row.reference)
                                    : fmt::format("at {} {:g} point{} above {}", row.is_at_most ? "most" : "least",
                                                  row.margin, row.margin == 1 ? "" : "s", row.reference);
  claim.ours = arm_text(arms, row.arm) + "; " + arm_text(arms, row.reference);
  const auto errors = errors_of(arms, row.arm), reference = errors_of(arms, row.reference);
  const Looks looks = looks_from(first_look);
  if (!errors || !reference || std::min(errors->size(), reference->size()) < looks.first) return claim;
  claim.evidence = judge_difference(*errors, *reference, row.margin, row.is_at_most, looks);
  claim.ours = evidence_text(claim.evidence, claim.is_ratio) + ": " + claim.ours;
  return claim;
}

}  // namespace

std::vector<HourClaim> hour_claims(HourPlan plan, const std::map<std::string, Summary>& arms, size_t first_look) {
  std::vector<HourClaim> claims;
  const auto add = [&](const ClaimRow& row) { claims.push_back(judged(row, arms, first_look)); };
  if (plan == HourPlan::brief)
    std::for_each(std::begin(kBrief), std::end(kBrief), add);
  else
    std::for_each(std::begin(kFull), std::end(kFull), add);
  return claims;
}

size_t seeds_wanted(const std::vector<HourClaim>& claims, const std::string& arm, size_t first_look) {
  size_t wanted = first_look;
  const Looks looks = looks_from(first_look);
  for (const HourClaim& claim : claims) {
    if (claim.arm != arm && claim.reference != arm) continue;
    const bool is_undecided = claim.evidence.verdict == Verdict::undecided;
    const size_t asked = claim.evidence.seeds + (is_undecided ? 1 : 0);
    wanted = std::max(wanted, std::min(asked, looks.last));
  }
  return wanted;
}

}  // namespace kb
