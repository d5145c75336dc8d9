// Runs steps of a small net that processes and virtual workers share: the part of one process.
#pragma once
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "compiler/passes/passes.h"
#include "runtime/backend.h"
#include "runtime/state_store.h"

namespace kb::test {

struct WorkerSplit {
  int processes = 1, virtual_workers = 1;
};

struct WorkerRun {
  WorkerSplit split = {};
  int64_t samples = 2, steps = 3;  // samples of a worker in a step; steps of the run
  Precision precision = Precision::f32;
  int64_t bucket_bytes = 0;
  bool random = false;
  DType reduce_precision = DType::f32;
  bool mean_statistics = false;
  bool gradient_norms = false, log_layers = false;
  int64_t first_worker = 0;
  bool two_groups = false;              // "block" and "rest", which share a loss and the rule
  std::string optimizer = {};           // a row of optimizers(), at a falling rate; empty: momentum at a constant one
  int64_t first_step = 0;               // the run goes on here, up to `steps`
  std::vector<NamedTensor> start = {};  // the state from which it goes on; none: the initial one
  bool profiled = false;                // true: the parts of the last virtual worker are timed
  std::function<void()> leaves = {};    // called after the last step, with everything still open
};

std::ostream& operator<<(std::ostream& out, const WorkerRun& run);

struct WorkerOutcome {
  std::string state;
  std::vector<double> losses;
  std::vector<double> workers_norm, mean_norm;  // kWorkersNorm, kMeanNorm of each step
  std::vector<double> layers_norm;              // |gradient|^2 of each step, from the norms of its layers
  std::vector<double> vector_norm;              // likewise, from the vector of all gradients
  std::vector<NamedTensor> tensors;
  std::vector<Overlap> overlaps;  // one for each profiled step
  bool operator==(const WorkerOutcome& other) const { return state == other.state && losses == other.losses; }
};

// Runs the part of process `rank` in the run and returns its outcome.
WorkerOutcome run_process(const WorkerRun& run, Backend& backend, int rank);

// Checks that there are at least two reductions, that the times of each are in order and within the step, and that some
// time is left for computing.
void check_clock(const Overlap& overlap);

}  // namespace kb::test
