// Communication and compute of a step, for people: what every all-reduce carries, when it could go, went and was there,
// and how long compute stood still for it.
#pragma once
#include <string>
#include <vector>

#include "compiler/overlap.h"
#include "compiler/pipeline.h"
#include "runtime/comm/communicator.h"
#include "runtime/session.h"

namespace kb {

// Returns what an all-reduce sums: "layer3.*", "conv1.*, layer1.*", or "losses, statistics".
std::string reduction_contents(const Compiled& compiled, int32_t reduction);

// A line a bucket, milliseconds from the start of the program `final`, and "exposed 3.1 ms of 41 ms".
std::string overlap_text(const Compiled& compiled, const Overlap& overlap);

// Returns the overlap of the step that Session::profile() took.
Overlap measured_overlap(const Session& session, const Profile& profile);
// That of the median time; the steps are not empty.
const Overlap& median_step(const std::vector<Overlap>& steps);

// Seconds of the steps of the routine that ends a step (Session::profiled), each the median of several profiles.
std::vector<double> routine_seconds(Session& session);
// Seconds of the steps of `final`, each by itself, and of all of `prepare` together.
struct TimedStep {
  double prepare = 0;
  std::vector<double> final = {};
  double sum() const;
  void scale(double factor);
};
TimedStep profiled_step(Session& session);
// That of the median time of several.
Profile median_profile(Session& session);

// By halving and doubling.
ReductionSeconds reduction_seconds(const Compiled& compiled, const Network& network);
Profile predicted_profile(std::span<const Schedule* const> programs, std::span<const double> seconds,
                          const ReductionSeconds& reduction);
// Predicts the overlap of `final` from its steps' `seconds`; `bucket_bytes` as in compiler/overlap.h.
Overlap predict_overlap(const Compiled& compiled, const std::vector<double>& seconds, const Network& network,
                        int64_t bucket_bytes = 0);

}  // namespace kb
