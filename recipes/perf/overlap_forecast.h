// Forecasts of how long a step takes when its processes speak over a network, from the times of its parts.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "compiler/pipeline/pipeline.h"
#include "compiler/schedule/overlap.h"
#include "runtime/comm/communicator.h"
#include "runtime/profile.h"

namespace kb {

// Returns a function that gives the seconds of an all-reduce by halving and doubling, from its bytes.
ReductionSeconds reduction_seconds(const Compiled& compiled, const Network& network);
// Returns the predicted times of programs that run one after another; `seconds` has one entry per step of all of them.
Profile predicted_profile(std::span<const Schedule* const> programs, std::span<const double> seconds,
                          const ReductionSeconds& reduction);
// Predicts the overlap of the program `final` from the `seconds` of its steps. compiler/schedule/overlap.h explains
// `bucket_bytes`.
Overlap predict_overlap(const Compiled& compiled, const std::vector<double>& seconds, const Network& network,
                        int64_t bucket_bytes = 0);

}  // namespace kb
