// Forecasts of a step over a network, from the times of its parts.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "compiler/pipeline/pipeline.h"
#include "compiler/schedule/overlap.h"
#include "runtime/comm/communicator.h"
#include "runtime/profile.h"

namespace kb {

// Returns how long an all-reduce of so many bytes takes: by halving and doubling.
ReductionSeconds reduction_seconds(const Compiled& compiled, const Network& network);
Profile predicted_profile(std::span<const Schedule* const> programs, std::span<const double> seconds,
                          const ReductionSeconds& reduction);
// Predicts the overlap of `final` from its steps' `seconds`; `bucket_bytes` as in compiler/schedule/overlap.h.
Overlap predict_overlap(const Compiled& compiled, const std::vector<double>& seconds, const Network& network,
                        int64_t bucket_bytes = 0);

}  // namespace kb
