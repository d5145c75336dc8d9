#include "recipes/perf/overlap_report.h"

#include <fmt/format.h>

#include <algorithm>

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

}  // namespace kb
