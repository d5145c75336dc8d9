#include "recipes/answer/targets_answer.h"

#include <algorithm>
#include <set>

#include "recipes/config/values.h"
#include "recipes/train/evaluation.h"

namespace kb {
namespace {

TargetAnswer target_answer(StoreResults results) {
  TargetAnswer one{results.target};
  StudyAnswer answer = answer_or_missed(results.measurements, {.base_minibatch = {}, .noise = results.noise});
  if (!answer.best.empty()) one.answer = std::move(answer);
  for (const Measurement& run : results.measurements) one.runs_reached += run.steps.has_value();
  one.runs = std::move(results.measurements);
  one.noise = results.gradient_noise;
  return one;
}

MetricKind figure_kind(const StoreRuns& runs, const TargetFigure& target) {
  for (const StoredTrial& trial : runs.trials)
    if (const auto kind = trial.run.metric_kinds.find(target.plain_metric()); kind != trial.run.metric_kinds.end())
      return kind->second;
  return {};
}

// Returns how many tokens a sample has; nothing if its samples have none, or if trials differ in it.
std::optional<int64_t> context_of(const StoreRuns& runs) {
  std::set<std::optional<int64_t>> all;
  for (const StoredTrial& trial : runs.trials) all.insert(trial.run.context);
  return all.size() == 1 ? *all.begin() : std::nullopt;
}

}  // namespace

size_t TargetAnswer::minibatches() const {
  std::set<int64_t> all;
  for (const Measurement& run : runs) all.insert(run.minibatch);
  return all.size();
}

std::vector<const TargetAnswer*> TargetsAnswer::told() const {
  std::vector<const TargetAnswer*> all;
  for (const TargetAnswer& one : targets)
    if (one.fit() && (one.fit()->b_crit.interval.has_low() || one.fit()->b_crit.interval.has_high()))
      all.push_back(&one);
  return all;
}

std::vector<const TargetAnswer*> TargetsAnswer::enclosed() const {
  std::vector<const TargetAnswer*> all = told();
  std::erase_if(all, [](const TargetAnswer* one) {
    const ConfidenceInterval& interval = one->fit()->b_crit.interval;
    return !interval.has_low() || !interval.has_high();
  });
  return all;
}

Verdict TargetsAnswer::growth() const {
  const std::vector<const TargetAnswer*> all = told();
  if (all.size() < 2) return Verdict::undecided;
  const ConfidenceInterval &first = all.front()->fit()->b_crit.interval, &last = all.back()->fit()->b_crit.interval;
  if (last.high < first.low) return Verdict::not_held;
  const auto falls = std::adjacent_find(all.begin(), all.end(), [](const TargetAnswer* one, const TargetAnswer* next) {
    return next->fit()->b_crit.value <= one->fit()->b_crit.value;
  });
  return falls == all.end() && last.low > first.high ? Verdict::held : Verdict::undecided;
}

std::optional<PowerLaw> TargetsAnswer::law() const {
  if (own.plain_metric() != kLossName) return std::nullopt;
  std::vector<std::pair<double, double>> points;
  for (const TargetAnswer* one : enclosed()) points.emplace_back(one->target.value, one->fit()->b_crit.value);
  return fit_power_law(points);
}

bool TargetsAnswer::has_noise() const {
  return std::any_of(targets.begin(), targets.end(), [](const TargetAnswer& one) { return one.noise.has_value(); });
}

TargetsAnswer answer_targets(TargetsAnswer asked, std::vector<StoreResults> results) {
  std::sort(results.begin(), results.end(), [&](const StoreResults& one, const StoreResults& other) {
    return asked.higher_is_better ? one.target.value < other.target.value : one.target.value > other.target.value;
  });
  for (StoreResults& one : results) asked.targets.push_back(target_answer(std::move(one)));
  return asked;
}

TargetsAnswer answer_targets(const StoreRuns& runs, const std::string& name, std::span<const double> values) {
  const TargetFigure own = target_of(runs.definition);
  const MetricKind kind = figure_kind(runs, own);
  std::vector<StoreResults> results;
  for (const double value : values) {
    if (kind.is_share && !(value > 0 && value < 1))
      refuse_value("--targets", "shares of the samples between 0 and 1, such as 0.03 or 3%",
                   TargetFigure{own.metric, value}.text());
    results.push_back(results_to(runs, {own.metric, value}));
  }
  return answer_targets({name, own, kind.higher_is_better, context_of(runs), runs.head, {}}, std::move(results));
}

}  // namespace kb
