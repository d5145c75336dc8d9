// A report of how communication overlaps with compute in a step: what every all-reduce carries, when it was ready,
// began and ended, and how long compute waited for it. A forecast of it, for processes that speak over a network,
// follows from the times of the step's parts.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/pipeline/pipeline.h"
#include "compiler/schedule/overlap.h"
#include "runtime/comm/communicator.h"
#include "runtime/profile.h"

namespace kb {

// Returns what an all-reduce sums, such as "layer3.*", "conv1.*, layer1.*", or "losses, statistics".
std::string reduction_contents(const Compiled& compiled, int32_t reduction);

// Returns a table with a line per all-reduce, in milliseconds from the start of the program `final`, and a last line
// such as "exposed 3.1 ms of 41 ms; communication 12 ms, of which 8.9 ms are hidden".
std::string overlap_text(const Compiled& compiled, const Overlap& overlap);

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
