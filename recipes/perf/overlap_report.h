// Communication and compute of a step, for people: what every all-reduce carries, when it could go, went and was there,
// and how long compute stood still for it.
#pragma once
#include <string>

#include "compiler/pipeline/pipeline.h"
#include "compiler/schedule/overlap.h"

namespace kb {

// Returns what an all-reduce sums: "layer3.*", "conv1.*, layer1.*", or "losses, statistics".
std::string reduction_contents(const Compiled& compiled, int32_t reduction);

// A line a bucket, milliseconds from the start of the program `final`, and "exposed 3.1 ms of 41 ms".
std::string overlap_text(const Compiled& compiled, const Overlap& overlap);

}  // namespace kb
