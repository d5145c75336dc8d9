#include "recipes/perf/overlap_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "recipes/perf/memory_answer.h"
#include "runtime/comm/cost.h"
#include "runtime/three_digits.h"

namespace kb {
namespace {

const Step& exchange_of(const Schedule& schedule, int32_t reduction) {
  for (const Step& step : schedule.steps)
    if (step.cls == FusionClass::exchange && step.reduction() == reduction) return step;
  throw InternalError("the schedule has no such all-reduce");
}

// Returns the longest common beginning of the names that ends with a dot, or "" if there is none.
std::string common_scope(const std::vector<std::string>& names) {
  size_t length = names.at(0).size();
  for (const std::string& name : names)
    length = static_cast<size_t>(
        std::mismatch(name.begin(), name.begin() + static_cast<std::ptrdiff_t>(std::min(length, name.size())),
                      names[0].begin())
            .first -
        name.begin());
  return names[0].substr(0, names[0].substr(0, length).rfind('.') + 1);
}

// Returns the common scope of the names, "layer3.2.*", or their outermost scopes if they differ, "layer3.*, layer2.*".
std::string scopes_text(const std::vector<std::string>& names) {
  if (names.size() == 1) return names[0];
  if (const std::string scope = common_scope(names); !scope.empty()) return scope + "*";
  std::vector<std::string> scopes;
  for (const std::string& name : names) {
    const size_t dot = name.find('.');
    std::string scope = dot == std::string::npos ? name : name.substr(0, dot) + ".*";
    if (std::find(scopes.begin(), scopes.end(), scope) == scopes.end()) scopes.push_back(std::move(scope));
  }
  return fmt::format("{}", fmt::join(scopes, ", "));
}

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

std::string reduction_contents(const Compiled& compiled, int32_t reduction) {
  const Schedule& schedule = compiled.program.at(PartRole::final);
  const Step& step = exchange_of(schedule, reduction);
  const int64_t element = size_of(schedule.node_of(step).type().dtype);
  const View view = step.operands.at(0);
  const int64_t begin = view.offset / element, end = begin + step.extents.at(0) / element;
  // A bucket of gradients is a range of the flat gradient, which has the order of the segments.
  if (schedule.buffers[static_cast<size_t>(view.buffer)].bytes != compiled.space.gradient_length * element)
    return "losses, statistics";
  std::vector<std::string> names;
  for (const Segment& segment : compiled.space.segments)
    if (segment.offset < end && begin < segment.offset + segment.length) names.push_back(segment.name);
  return names.empty() ? "padding" : scopes_text(names);
}

std::string overlap_text(const Compiled& compiled, const Overlap& overlap) {
  std::string text = fmt::format("{:>6} {:>9} {:>9} {:>9} {:>9} {:>9}  {}\n", "bucket", "bytes", "ready ms", "start ms",
                                 "end ms", "exposed", "parameters");
  for (const ReductionTimes& one : overlap.reductions)
    text += fmt::format("{:>6} {:>9} {:>9.3f} {:>9.3f} {:>9.3f} {:>9.3f}  {}\n", one.reduction, bytes_text(one.bytes),
                        1e3 * one.ready, 1e3 * one.start, 1e3 * one.end, 1e3 * one.exposed,
                        reduction_contents(compiled, one.reduction));
  return text + fmt::format("exposed {} ms of {} ms; communication {} ms, of which {} ms are hidden\n",
                            three_digits(1e3 * overlap.exposed), three_digits(1e3 * overlap.step),
                            three_digits(1e3 * overlap.communication), three_digits(1e3 * overlap.hidden()));
}

ReductionSeconds reduction_seconds(const Compiled& compiled, const Network& network) {
  const int ranks = static_cast<int>(compiled.workers.processes);
  return [=](int64_t bytes) { return halving_doubling_seconds(bytes, ranks, network); };
}

Profile predicted_profile(std::span<const Schedule* const> programs, std::span<const double> seconds,
                          const ReductionSeconds& reduction) {
  Profile profile;
  for (const Schedule* schedule : programs) {
    const size_t steps = schedule->steps.size();
    profile.append(predicted_times(*schedule, seconds.first(steps), reduction));
    seconds = seconds.subspan(steps);
  }
  return profile;
}

Overlap predict_overlap(const Compiled& compiled, const std::vector<double>& seconds, const Network& network,
                        int64_t bucket_bytes) {
  return predict_overlap(compiled.program.at(PartRole::final), seconds, reduction_seconds(compiled, network),
                         bucket_bytes);
}

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
