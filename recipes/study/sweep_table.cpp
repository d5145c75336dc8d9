#include "recipes/study/sweep_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "recipes/study/statistics.h"

namespace kb {
namespace {

std::string bounded_values(const MinibatchPlan& plan) {
  std::string text;
  for (const auto& [flag, value] : plan.trials[*plan.best].values) {
    std::string sign;
    for (const RangeBound& bound : plan.bounds)
      if (bound.flag == flag) sign = bound.is_above ? ">= " : "<= ";
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", flag, sign, value);
  }
  return text.empty() ? "as given" : text;
}

// Steps to the target of the best trial under every seed that reached it.
std::vector<double> steps_over_seeds(const MinibatchPlan& plan) {
  std::vector<double> steps = {static_cast<double>(plan.trials[*plan.best].standing.target_step)};
  for (const PlannedTrial& trial : plan.trials)
    if (!trial.is_search && trial.state == TrialState::reached)
      steps.push_back(static_cast<double>(trial.standing.target_step));
  return steps;
}

std::string seeds_text(const std::vector<double>& steps) {
  if (steps.size() < 2) return "-";
  const auto [least, most] = std::minmax_element(steps.begin(), steps.end());
  return fmt::format("{:.0f} ({:.0f}..{:.0f})", median_of(steps), *least, *most);
}

size_t count_of(const MinibatchPlan& plan, TrialState state) {
  return static_cast<size_t>(std::count_if(plan.trials.begin(), plan.trials.end(),
                                           [&](const PlannedTrial& trial) { return trial.state == state; }));
}

std::string minibatch_line(const MinibatchPlan& plan) {
  std::string line;
  if (plan.best) {
    const std::vector<double> steps = steps_over_seeds(plan);
    line = fmt::format("{:>9}  {:<18} {:>8}  {:<20} {:>9.0f} ", plan.minibatch, bounded_values(plan), steps.front(),
                       seeds_text(steps), plan.trials[*plan.best].standing.samples);
  } else {
    line = fmt::format("{:>9}  {:<18} {:>8}  {:<20} {:>9} ", plan.minibatch, "target not reached", "-", "-", "-");
  }
  for (const TrialState state : {TrialState::reached, TrialState::missed, TrialState::hopeless, TrialState::diverged,
                                 TrialState::refused, TrialState::failed})
    if (const size_t count = count_of(plan, state); count > 0) line += fmt::format(" {} {},", count, text_of(state));
  if (const size_t count = count_of(plan, TrialState::waiting); count > 0) line += fmt::format(" {} to do,", count);
  line.back() = '\n';
  return line;
}

}  // namespace

std::string values_text(const PlannedTrial& trial) {
  std::string text;
  for (const auto& [flag, value] : trial.values) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", flag, value);
  return text;
}

std::string sweep_table(const SweepPlan& plan) {
  std::string text = fmt::format("{:>9}  {:<18} {:>8}  {:<20} {:>9}  trials\n", "minibatch", "best", "steps",
                                 "over seeds: median", "samples");
  for (const MinibatchPlan& minibatch : plan.minibatches)
    if (minibatch.is_open) text += minibatch_line(minibatch);
  return text;
}

}  // namespace kb
