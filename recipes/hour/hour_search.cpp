#include "recipes/hour/hour_search.h"

#include <fmt/format.h>

#include <cmath>

namespace kb {

std::vector<HourTrial> trials_of_search(const HourArm& arm) {
  std::vector<HourTrial> trials;
  if (arm.search.empty()) return trials;
  for (int64_t number = 0; number < kHourTrials; ++number) {
    const std::vector<double> point = halton_point(number, arm.search.size(), 0);
    HourTrial trial{fmt::format("{}-t{:02}", arm.name, number), {}, arm.words};
    for (size_t d = 0; d < arm.search.size(); ++d) {
      const std::string value = value_at(arm.search[d], point[d], 1);
      trial.values[arm.search[d].flag] = value;
      trial.words.insert(trial.words.end(), {"--" + arm.search[d].flag, value});
    }
    trials.push_back(std::move(trial));
  }
  return trials;
}

HourChoice choice_of(const HourArm& arm, const std::map<std::string, RunReport>& runs) {
  HourChoice choice;
  for (const HourTrial& trial : trials_of_search(arm)) {
    const auto at = runs.find(trial.name);
    if (at == runs.end()) continue;
    ++choice.done;
    const RunReport& run = at->second;
    choice.diverged += run.diverged;
    if (run.diverged || run.evaluations.empty()) continue;
    const double error = run.evaluations.back().goal;
    if (!std::isfinite(error) || (choice.best && error >= choice.error)) continue;
    choice.best = trial;
    choice.error = error;
  }
  return choice;
}

HourArm at_trial(HourArm arm, const HourTrial& trial) {
  arm.words = trial.words;
  arm.rate = trial.values.at("lr");
  arm.start += fmt::format(", gradual warmup of {} epochs", trial.values.at("warmup-epochs"));
  arm.search.clear();
  return arm;
}

std::string choice_text(const HourArm& arm, const HourChoice& choice) {
  std::string text = fmt::format("{}: {} trials of", arm.name, choice.done);
  for (const SearchRange& range : arm.search) text += " " + range.text();
  text += fmt::format(", {} diverged", choice.diverged);
  if (!choice.best) return text + "; none ended";
  for (const auto& [flag, value] : choice.best->values) text += fmt::format(", {} {}", flag, value);
  return text + fmt::format(": {:.2f} % held out", 100 * choice.error);
}

}  // namespace kb
