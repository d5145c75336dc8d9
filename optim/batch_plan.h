// The only source of batch arithmetic: how the samples of a step are shared among processes and their virtual workers.
#pragma once
#include <cstdint>
#include <string>

namespace kb {

// kn samples a step = processes x virtual workers of each x n samples of a worker; k = processes x virtual workers
// (Goyal et al. 2017, section 2: batch norm sees n, the optimizer kn).
struct BatchPlan {
  int64_t global = 0;  // kn
  int64_t processes = 1, virtual_workers = 1;
  int64_t per_worker = 0;  // n

  int64_t workers() const { return processes * virtual_workers; }
  // "kn 8192 = 4 processes x 64 virtual workers x 32".
  std::string derivation() const;
};

// `per_worker` 0: one virtual worker a process. Throws Error, with the nearest plans that do, where it does not divide.
BatchPlan make_batch_plan(int64_t global, int64_t per_worker, int64_t processes);

}  // namespace kb
