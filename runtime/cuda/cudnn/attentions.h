// The attentions of a device library, by cuDNN's flash kernels, which cuDNN compiles when it plans them. Equal specs
// share a plan: that of their pick if one is given, else the heuristics' favourite.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "runtime/cuda/cudnn/plans.h"
#include "runtime/cuda/library.h"
#include "runtime/library_spec.h"

namespace kb::cudnn {

class Attentions {
 public:
  // Works on the current context's device. The plans' picks are recorded in `picks`.
  explicit Attentions(cuda::LibraryPicks& picks);
  // Works without a device: plans can be made, and their scratch be asked for, but they do not run. Making one needs
  // the driver's library (libcuda.so.1). Without it the scratch is known, and nothing else.
  Attentions(const std::string& architecture, cuda::LibraryPicks& picks);
  ~Attentions();
  Attentions(const Attentions&) = delete;
  Attentions& operator=(const Attentions&) = delete;

  // Throws Error when cuDNN has no implementation.
  std::unique_ptr<cuda::LibraryOp> plan(const AttentionSpec& spec);

 private:
  std::shared_ptr<const GraphPlan> choose(const AttentionSpec& spec);

  PlanDevice choice_;
  cuda::LibraryPicks& picks_;
  std::map<std::string, std::shared_ptr<const GraphPlan>> chosen_;  // keyed by the spec's text; null: no driver
};

// Returns the most workspace that a plan may want, in bytes. A deterministic backward plan has the gradients of all
// scores there in 16 bits, in whole tiles of 64 queries and 128 keys; else it is small.
int64_t attention_workspace(const AttentionSpec& spec);

}  // namespace kb::cudnn
