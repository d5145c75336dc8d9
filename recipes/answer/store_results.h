// Reads the results of a sweep for a study, from its run folders.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "recipes/answer/measurement.h"
#include "recipes/answer/study_head.h"
#include "recipes/answer/target_noise.h"
#include "recipes/config/target_figure.h"
#include "recipes/sweep/sweep_plan.h"
#include "recipes/trials/run_reader.h"

namespace kb {

// Returns the virtual time in seconds at which a run had done so many steps, linear inside a step; nothing if it has no
// clock, or none at these steps.
std::optional<double> clock_at(const RunReport& run, double steps);

// Returns the bytes that a process sends in `steps` steps, one worker a process, mean over the processes; what it
// receives is not counted. With k workers and parameters of n bytes, 4 each or 2 by --reduce-precision, a step sends:
// sync: A(k), that of a halving-doubling all-reduce over k processes (Traffic, runtime/comm/communicator.h), which is
//   2n (k - 1) / k for k = 2^i.
// local: A(k / R) for the gradients of a replica, and A(R) every H steps for the parameters; A(k) before --from.
// async, stale: n, one gradient a worker. The server sends the parameters, which are not counted.
// backup: n k / (k + b) where late gradients are abandoned, which then are not sent. Where they are finished, the run's
//   order.jsonl tells how many were sent and dropped.
// Returns nothing if the number of parameters is not known, or if the order cannot be read.
std::optional<double> bytes_sent(const RunReport& run, double steps);

// Returns A(p): the bytes that a rank of p sends in a halving-doubling all-reduce of `elements` elements of
// `element_bytes` bytes, mean over the ranks.
double all_reduce_bytes(int64_t elements, int64_t element_bytes, int64_t ranks);

// A trial that ended, or was stopped as hopeless, and what its run folder holds.
struct StoredTrial {
  PlannedTrial plan;
  RunReport run;
};

// The trials of a sweep so far. Results to any target follow from them.
struct StoreRuns {
  SweepDefinition definition;
  std::vector<StoredTrial> trials;    // trials in the plan's order
  StudyHead head;                     // recipe, data, ranges, constants
  std::vector<std::string> left_out;  // names of run folders that cannot be read, and the reasons
  size_t waiting = 0;                 // number of known trials that are not done yet
};

// Returns the trials so far. Throws Error if the folder holds no sweep.
StoreRuns read_store(const std::filesystem::path& store);

struct StoreResults {
  TargetFigure target;
  std::vector<Measurement> measurements = {};  // measurements of the trials, in the plan's order
  std::vector<RunReport> best_runs = {};       // trial with the fewest steps of each minibatch, in ascending order
  std::optional<TargetNoise> noise = {};       // noise of the held-out part
  std::optional<GradientNoise> gradient_noise = {};  // gradient noise scale of best_runs at the target
};

// Returns the results to a target: the sweep's own, or another value of a figure that its evaluations have. Trials end
// at the sweep's own target, so that one which is easier is seen in all runs that came to it.
StoreResults results_to(const StoreRuns& runs, const TargetFigure& target);
inline StoreResults results_to_own_target(const StoreRuns& runs) {
  return results_to(runs, target_of(runs.definition));
}

}  // namespace kb
