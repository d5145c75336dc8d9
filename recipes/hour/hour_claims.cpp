#include "recipes/hour/hour_claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

namespace kb {
namespace {

using ArmSummaries = std::map<std::string, Summary>;

// The mean error of an arm in per cent, over the seeds that did not diverge.
struct ArmError {
  bool is_there = false;  // every seed was trained
  bool diverged = false;  // a seed did
  bool has_mean = false;  // a seed did not
  double percent = 0;
  std::string text = "not trained";
};

class Claims {
 public:
  explicit Claims(const ArmSummaries& arms) : arms_(arms), base_(error_of("kn32")) {}

  // Holds where no seed diverged and the mean is at most `points` above the baseline's.
  void is_within(const std::string& arm, double points, const std::string& claim, const std::string& paper) {
    judge({arm}, claim, paper, fmt::format("at most {:g} point{} above kn 32", points, points == 1 ? "" : "s"),
          [=](const ArmError& error, double base) { return !error.diverged && error.percent <= base + points; });
  }

  void is_worse(const std::vector<std::string>& arms, double points, const std::string& claim,
                const std::string& paper) {
    judge(arms, claim, paper,
          fmt::format("at least {:g} point{} above kn 32, or diverged", points, points == 1 ? "" : "s"),
          [=](const ArmError& error, double base) { return error.diverged || error.percent >= base + points; });
  }

  // The rescue of a minibatch by another optimizer than the best of others.
  void is_better_than_all(const std::string& arm, const std::vector<std::string>& others, double points,
                          const std::string& claim, const std::string& paper) {
    const ArmError error = error_of(arm);
    std::optional<double> best;
    std::string ours = fmt::format("{} ({})", error.text, arm);
    bool is_there = error.is_there;
    for (const std::string& other : others) {
      const ArmError its = error_of(other);
      is_there = is_there && its.is_there;
      if (its.has_mean) best = std::min(best.value_or(its.percent), its.percent);
      ours += fmt::format("; {} ({})", its.text, other);
    }
    const bool holds = !error.diverged && (!best || error.percent <= *best - points);
    add(claim, paper, ours, fmt::format("at least {:g} points below the best of the others", points), is_there, holds);
  }

  void is_not_tested(const std::string& claim, const std::string& paper, const std::string& why) {
    claims_.push_back({claim, paper, why, "-", Verdict::not_tested});
  }

  std::vector<HourClaim> take() { return std::move(claims_); }

 private:
  ArmError error_of(const std::string& arm) const {
    const auto at = arms_.find(arm);
    if (at == arms_.end() || at->second.runs.empty()) return {};
    const Summary& summary = at->second;
    std::string text = goal_text(summary, summary.last);
    if (summary.failed > 0) text += fmt::format(" ({} not trained)", summary.failed);
    return {summary.failed == 0, summary.diverged > 0, summary.last.has_value(),
            summary.last ? 100 * summary.last->mean : 0, std::move(text)};
  }

  void judge(const std::vector<std::string>& arms, const std::string& claim, const std::string& paper,
             const std::string& criterion, const std::function<bool(const ArmError&, double)>& holds) {
    std::string ours = fmt::format("{} (kn32)", base_.text);
    bool is_there = base_.is_there && !base_.diverged, all_hold = true;
    for (const std::string& arm : arms) {
      const ArmError error = error_of(arm);
      ours += fmt::format("; {} ({})", error.text, arm);
      is_there = is_there && error.is_there;
      all_hold = all_hold && is_there && holds(error, base_.percent);
    }
    add(claim, paper, ours, criterion, is_there, all_hold);
  }

  void add(const std::string& claim, const std::string& paper, const std::string& ours, const std::string& criterion,
           bool is_there, bool holds) {
    const Verdict verdict = !is_there ? Verdict::not_tested : holds ? Verdict::held : Verdict::not_held;
    claims_.push_back({claim, paper, ours, criterion, verdict});
  }

  const ArmSummaries& arms_;
  const ArmError base_;
  std::vector<HourClaim> claims_;
};

}  // namespace

const char* text_of(Verdict verdict) {
  return verdict == Verdict::held ? "held" : verdict == Verdict::not_held ? "not held" : "not tested";
}

std::vector<HourClaim> hour_claims(HourPlan plan, const ArmSummaries& arms) {
  Claims claims(arms);
  if (plan == HourPlan::brief) {
    claims.is_within("kn256-gradual", 1, "the linear scaling rule keeps the error of a small minibatch",
                     "23.49 at kn 2k, 23.60 at 256 (figure 1)");
    claims.is_worse({"kn256-fixed"}, 1, "without it, at the small minibatch's rate, the error is worse",
                    "41.67 at kn 8k, 23.60 at 256 (table 2a)");
    return claims.take();
  }
  claims.is_within("kn256-gradual", 0.5, "the linear scaling rule with gradual warmup keeps the baseline's error",
                   "23.49 at kn 2k, 23.60 at 256 (figure 1)");
  claims.is_within("kn512-gradual", 0.5, "so it does at a minibatch twice as large",
                   "23.74 at kn 8k, 23.60 at 256 (table 1)");
  claims.is_worse({"kn512-fixed"}, 1, "at the baseline's rate a large minibatch is worse", "41.67 at kn 8k (table 2a)");
  claims.is_worse({"kn512-no-warmup"}, 3, "without warmup it is worse", "24.84 at kn 8k (table 1)");
  claims.is_worse({"kn512-constant"}, 3, "with constant warmup it is worse", "25.88 at kn 8k (table 1)");
  claims.is_worse({"kn1024-gradual"}, 1, "beyond some minibatch the rule breaks",
                  "24.79 at kn 16k, 33.96 at 64k (figure 1)");
  claims.is_better_than_all("kn4096-lars", {"kn4096-sgd-0.1", "kn4096-sgd-0.2", "kn4096-sgd-0.4"}, 3,
                            "layer-wise rates (LARS) train minibatches that plain SGD does not",
                            "You et al. 2017: accuracy of AlexNet at 4k 58.5 % with LARS, 53.1 % without");
  claims.is_not_tested("constant warmup is worse than none", "25.88 against 24.84 at kn 8k (table 1)",
                       "does not show at this size: both diverge or scatter");
  claims.is_not_tested("the square-root rule is worse than the linear one", "26.22 against 23.74 at kn 8k (table 2a)",
                       "does not show at this size");
  return claims.take();
}

}  // namespace kb
