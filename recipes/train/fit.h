// Computes how much memory a training may fill, and the largest virtual worker that fits. The memory that programs need
// is known from their compiled plans, without running them.
#pragma once

#include "recipes/perf/memory_answer.h"
#include "recipes/task/task.h"
#include "recipes/train/settled.h"

namespace kb {

struct Programs;

// Returns the device's target. If `gigabytes` (arithmetic.memory, in units of 1e9 bytes) is above 0, it replaces the
// device's memory.
Target run_target(double gigabytes, Target target);
// Returns the bytes that a training may fill: `gigabytes` if that is above 0, else `device_bytes`.
int64_t run_memory(double gigabytes, int64_t device_bytes);
// Throws Error if `gigabytes` is above 0 and the programs together take more.
void check_memory(const Programs& programs, const ParameterCopies& copies, Processor processor, double gigabytes);

// Finds the largest number n of samples per virtual worker that divides a process's share of the minibatch, with which
// there is a plan, and whose programs fit into kFitShare of `memory` bytes. Compiles the programs for each n in
// descending order until they fit, and runs nothing. `open` holds all choices except the batch plan. Throws Error if
// n = 1 does not fit, or if there is no plan with it, and so none with any n.
Fit fit_per_worker(const Task& task, const Settled& open, int64_t processes, int64_t memory);

}  // namespace kb
