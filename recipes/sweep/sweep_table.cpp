#include "recipes/sweep/sweep_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "recipes/config/values.h"
#include "runtime/median.h"

namespace kb {
namespace {

constexpr Choice<TrialState> kStates[] = {{"waiting", TrialState::waiting},   {"reached", TrialState::reached},
                                          {"missed", TrialState::missed},     {"diverged", TrialState::diverged},
                                          {"hopeless", TrialState::hopeless}, {"refused", TrialState::refused},
                                          {"foreign", TrialState::foreign},   {"failed", TrialState::failed}};

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

// Returns the median and range of the best trial's steps to the target over all seeds that reached it, and how many of
// the seeds did.
std::string seeds_text(const MinibatchPlan& plan) {
  std::vector<double> steps = {static_cast<double>(plan.trials[*plan.best].standing.target_step)};
  size_t seeds = 1;
  for (const PlannedTrial& trial : plan.trials) {
    if (trial.is_search || trial.state == TrialState::waiting) continue;
    ++seeds;
    if (trial.state == TrialState::reached) steps.push_back(static_cast<double>(trial.standing.target_step));
  }
  if (seeds < 2) return "-";
  const auto [least, most] = std::minmax_element(steps.begin(), steps.end());
  return fmt::format("{:.0f} ({:.0f}..{:.0f}) {}/{}", median_of(steps), *least, *most, steps.size(), seeds);
}

// Returns how the trials that search ended: "9 reached, 3 hopeless, 2 diverged: 12 of 14 feasible". Trials that are
// still to do, also of further seeds, come last.
std::string trials_text(const MinibatchPlan& plan) {
  std::map<TrialState, int> ended;
  int waiting = 0, drawn = 0;
  for (const PlannedTrial& trial : plan.trials) {
    drawn += trial.is_search;
    if (trial.state == TrialState::waiting)
      ++waiting;
    else if (trial.is_search)
      ++ended[trial.state];
  }
  std::string text;
  for (const auto& [state, count] : ended)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, text_of(state));
  const auto diverged = ended.find(TrialState::diverged);
  if (diverged != ended.end()) text += fmt::format(": {} of {} feasible", drawn - diverged->second, drawn);
  if (waiting > 0) text += fmt::format("{}{} to do", text.empty() ? "" : ", ", waiting);
  return text;
}

std::string minibatch_line(const MinibatchPlan& plan) {
  if (!plan.best)
    return fmt::format("{:>9}  {:<18} {:>7}  {:<22} {}\n", plan.minibatch, "target not reached", "-", "-",
                       trials_text(plan));
  return fmt::format("{:>9}  {:<18} {:>7}  {:<22} {}\n", plan.minibatch, bounded_values(plan),
                     plan.trials[*plan.best].standing.target_step, seeds_text(plan), trials_text(plan));
}

}  // namespace

std::string text_of(TrialState state) { return word_of(kStates, state); }

std::string values_text(const PlannedTrial& trial) {
  std::string text;
  for (const auto& [flag, value] : trial.values) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", flag, value);
  return text;
}

std::string sweep_table(const SweepPlan& plan) {
  std::string text =
      fmt::format("{:>9}  {:<18} {:>7}  {:<22} trials\n", "minibatch", "best", "steps", "median over seeds");
  for (const MinibatchPlan& minibatch : plan.minibatches)
    if (minibatch.is_open) text += minibatch_line(minibatch);
  return text;
}

}  // namespace kb
