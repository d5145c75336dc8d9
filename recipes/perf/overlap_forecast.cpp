#include "recipes/perf/overlap_forecast.h"

#include "runtime/comm/cost.h"

namespace kb {

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
