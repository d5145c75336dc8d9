// Batch arithmetic: how processes and their virtual workers share the samples of a step. No other file computes it.
#pragma once
#include <cstdint>
#include <string>

namespace kb {

// The samples whose mean and variance batch norm computes together. worker: all of a worker, as in the paper. ghost:
// groups of `size` samples of a worker. sync: the samples of `size` workers of one process.
struct NormGroup {
  enum class Kind : uint8_t { worker, ghost, sync } kind = Kind::worker;
  int64_t size = 1;
  friend bool operator==(const NormGroup&, const NormGroup&) = default;
};
// Returns "worker", "ghost(16)" or "sync(4)".
std::string to_string(const NormGroup& group);

// A step has kn samples, the product of processes, virtual workers of a process, and samples n of a worker; so k =
// processes x virtual workers. In Goyal et al. 2017, section 2, batch norm sees n samples and the optimizer kn.
struct BatchPlan {
  int64_t global = 0;  // kn, samples of a step
  int64_t processes = 1, virtual_workers = 1;
  int64_t per_worker = 0;  // n, samples of a worker
  NormGroup norm = {};     // if it is not `worker`, n differs from `asked`
  int64_t asked = 0;       // samples of a worker that the user asked for, before `norm` changed them

  int64_t workers() const { return processes * virtual_workers; }
  // Returns the plan in words: "kn 8192 = 4 processes x 64 virtual workers x 32"; "kn 8192 = 1 process x 512 virtual
  // workers x 16 (batch norm ghost(16): workers of 32 cut in 2)".
  std::string derivation() const;
};

// Shares `global` samples among processes and workers of `per_worker` samples; 0 means one worker a process. A group of
// batch norm other than `worker` becomes a worker of as many samples: the gradient is the mean over kn for any n, so n
// decides batch norm's statistics and nothing else. Throws Error, which names the nearest plans that work, when the
// numbers do not divide.
BatchPlan make_batch_plan(int64_t global, int64_t per_worker, int64_t processes, NormGroup norm = {});

}  // namespace kb
