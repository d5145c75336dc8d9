// Memory that a run may fill (--memory), and the largest virtual worker that it takes (--fit): both known from the
// plans of the compiled programs.
#pragma once
#include <string>

#include "recipes/config/run_config.h"
#include "recipes/perf/memory_answer.h"
#include "recipes/task/task.h"
#include "recipes/train/residency.h"

namespace kb {

struct Programs;

// The target of a run: the device's, with --memory in place of its memory where that is given.
Target run_target(const RunConfig& config, Target target);
// Bytes that a run may fill: --memory, else what the device has.
int64_t run_memory(const RunConfig& config, int64_t device_bytes);
// Throws Error where the programs together take more than --memory, if that is given.
void check_memory(const Programs& programs, const RunConfig& config);

struct Fit {
  int64_t per_worker = 0;  // n
  int64_t bytes = 0;       // that all its programs take together
  int64_t memory = 0;      // bytes that they may take
  int64_t recomputed = 0;  // activations that are computed again, for memory is short
  std::string text;        // for a person
};

// Finds the largest n that divides this process's share of the minibatch and whose programs fit into the share
// kFitShare of `memory`; compiles for those n from the largest on, runs nothing. `target`: run_target's. Throws Error
// where n = 1 does not fit.
Fit fit_per_worker(const Task& task, const RunConfig& config, const Target& target, const Residency& residency,
                   int64_t memory);

}  // namespace kb
