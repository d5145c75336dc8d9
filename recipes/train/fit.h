// Memory that a training may fill, and the largest virtual worker that it takes: both known from the plans of the
// compiled programs.
#pragma once
#include <string>

#include "recipes/perf/memory_answer.h"
#include "recipes/task/task.h"
#include "recipes/train/settled.h"

namespace kb {

struct Programs;

// Returns the device's target, with `gigabytes` (arithmetic.memory) in place of its memory where that is above 0.
Target run_target(double gigabytes, Target target);
// Returns the bytes that a training may fill: `gigabytes`, or where that is 0 what the device has.
int64_t run_memory(double gigabytes, int64_t device_bytes);
// Throws Error where the programs together take more than `gigabytes`, if that is above 0.
void check_memory(const Programs& programs, double gigabytes);

// Finds the largest n that divides this process's share of the minibatch and whose programs fit into the share
// kFitShare of `memory`; compiles for those n from the largest on, runs nothing. `open`: all choices but
// that of the batch. Throws Error where n = 1 does not fit.
Fit fit_per_worker(const Task& task, const Settled& open, int64_t processes, int64_t memory);

}  // namespace kb
