#include "recipes/perf/step_profiles.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <span>

namespace kb {
namespace {

// Profiles several steps, after one that warms up.
std::vector<Profile> several_profiles(Session& session) {
  constexpr size_t kFewest = 3, kMost = 9;
  constexpr std::chrono::seconds kLongest{2};  // time after which 3 profiles are enough, because long steps vary less
  session.profile();
  const auto start = std::chrono::steady_clock::now();
  std::vector<Profile> profiles;
  while (profiles.size() < kMost && (profiles.size() < kFewest || std::chrono::steady_clock::now() - start <= kLongest))
    profiles.push_back(session.profile());
  return profiles;
}

// Returns the times of the steps of the program `final`, which ends the profile.
std::span<const StepTime> last_program(const Session& session, const Profile& profile) {
  return std::span(profile.steps).last(session.compiled().program.at(PartRole::final).steps.size());
}

}  // namespace

Overlap measured_overlap(const Session& session, const Profile& profile) {
  return measured_overlap(session.compiled().program.at(PartRole::final), last_program(session, profile));
}

const Overlap& median_step(const std::vector<Overlap>& steps) {
  ensure(!steps.empty(), "median_step: no steps");
  std::vector<const Overlap*> sorted;
  for (const Overlap& step : steps) sorted.push_back(&step);
  std::sort(sorted.begin(), sorted.end(), [](const Overlap* a, const Overlap* b) { return a->step < b->step; });
  return *sorted[sorted.size() / 2];
}

double TimedStep::sum() const { return std::accumulate(final.begin(), final.end(), prepare); }

void TimedStep::scale(double factor) {
  prepare *= factor;
  for (double& seconds : final) seconds *= factor;
}

std::vector<double> routine_seconds(Session& session) {
  std::vector<std::vector<double>> trials;
  for (const Profile& profile : several_profiles(session)) {
    trials.resize(profile.steps.size());
    for (size_t s = 0; s < trials.size(); ++s) trials[s].push_back(1e-3 * profile.steps[s].milliseconds);
  }
  std::vector<double> seconds;
  for (std::vector<double>& one : trials) {
    const auto middle = one.begin() + static_cast<std::ptrdiff_t>(one.size() / 2);
    std::nth_element(one.begin(), middle, one.end());
    seconds.push_back(*middle);
  }
  return seconds;
}

TimedStep profiled_step(Session& session) {
  const std::vector<double> all = routine_seconds(session);
  const auto final = all.end() - std::ssize(session.compiled().program.at(PartRole::final).steps);
  return {std::accumulate(all.begin(), final, 0.0), {final, all.end()}};
}

Profile median_profile(Session& session) {
  std::vector<Profile> profiles = several_profiles(session);
  const auto middle = profiles.begin() + static_cast<std::ptrdiff_t>(profiles.size() / 2);
  std::nth_element(profiles.begin(), middle, profiles.end(),
                   [](const Profile& a, const Profile& b) { return a.end() < b.end(); });
  return *middle;
}

}  // namespace kb
