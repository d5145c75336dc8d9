// The only source of batch arithmetic: how the samples of a step are shared among processes and their virtual workers.
#pragma once
#include <cstdint>
#include <string>

namespace kb {

// Whose samples share the statistics of batch norm: those of a worker, as in the paper; groups of `size` samples that
// workers are cut into; or those of `size` workers of a process together.
struct NormGroup {
  enum class Kind : uint8_t { worker, ghost, sync } kind = Kind::worker;
  int64_t size = 1;
  friend bool operator==(const NormGroup&, const NormGroup&) = default;
};
// "worker", "ghost(16)", "sync(4)".
std::string to_string(const NormGroup& group);

// kn samples a step = processes x virtual workers of each x n samples of a worker; k = processes x virtual workers
// (Goyal et al. 2017, section 2: batch norm sees n, the optimizer kn).
struct BatchPlan {
  int64_t global = 0;  // kn
  int64_t processes = 1, virtual_workers = 1;
  int64_t per_worker = 0;  // n
  NormGroup norm = {};     // why n is not `asked`
  int64_t asked = 0;       // samples of a worker before `norm`

  int64_t workers() const { return processes * virtual_workers; }
  // "kn 8192 = 4 processes x 64 virtual workers x 32"; "kn 8192 = 1 process x 512 virtual workers x 16 (batch norm
  // ghost(16): workers of 32 cut in 2)".
  std::string derivation() const;
};

// `per_worker` 0: one virtual worker a process. A group of batch norm that is not the worker's is a worker of that many
// samples: the gradient is the mean over kn whatever n is, so statistics are all that n decides. Throws Error, with the
// nearest plans that do, where it does not divide.
BatchPlan make_batch_plan(int64_t global, int64_t per_worker, int64_t processes, NormGroup norm = {});

}  // namespace kb
