#include "recipes/answer/named_study.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "graph/error.h"

namespace kb {

StudyEffort effort_of(std::span<const Measurement> runs) {
  StudyEffort effort;
  effort.runs = runs.size();
  for (const Measurement& run : runs) {
    effort.diverged += run.diverged;
    effort.hopeless += run.hopeless;
    effort.samples += run.samples.value_or(0);
  }
  return effort;
}

std::vector<NamedRuns> runs_by_setting(NamedRuns all) {
  std::map<std::string, std::vector<Measurement>> settings;
  for (const Measurement& run : all.runs) settings[run.setting].push_back(run);
  if (settings.size() < 2) return {std::move(all)};
  if (settings.size() > kMostSettings)
    throw Error(fmt::format(
        "--by-setting: {}: expected at most {} values of the column setting, got {}\n  hint:     search the "
        "flag by a list, --search policy=sync,async",
        all.name, kMostSettings, settings.size()));
  std::vector<NamedRuns> studies;
  for (auto& [setting, runs] : settings)
    studies.push_back({fmt::format("{}: {}", all.name, setting.empty() ? "none" : setting), std::move(runs)});
  return studies;
}

std::vector<std::string> stopped_notes(const std::vector<NamedRuns>& settings) {
  std::vector<std::string> notes;
  if (settings.size() < 2) return notes;
  for (const NamedRuns& one : settings) {
    std::map<int64_t, std::pair<size_t, size_t>> counts;  // runs that reached the target and that were stopped
    for (const Measurement& run : one.runs) {
      counts[run.minibatch].first += run.steps.has_value();
      counts[run.minibatch].second += run.hopeless && !run.steps;
    }
    for (const auto& [minibatch, count] : counts)
      if (count.first == 0 && count.second > 0)
        notes.push_back(
            fmt::format("{}: no run reached the target at minibatch {}, where {} were stopped as slower than the best "
                        "of all settings; a sweep of this setting alone has a whole curve",
                        one.name, minibatch, count.second));
  }
  return notes;
}

}  // namespace kb
