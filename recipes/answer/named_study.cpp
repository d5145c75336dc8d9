#include "recipes/answer/named_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

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
    const auto stopped = std::count_if(one.runs.begin(), one.runs.end(),
                                       [](const Measurement& run) { return run.hopeless && !run.steps; });
    if (stopped > 0)
      notes.push_back(
          fmt::format("{}: {} of {} runs were stopped as slower than the best of another rate or setting; a sweep of "
                      "each setting has whole curves",
                      one.name, stopped, one.runs.size()));
  }
  return notes;
}

}  // namespace kb
