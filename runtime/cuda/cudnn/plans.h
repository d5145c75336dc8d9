// Execution plans for an operation graph: the candidates that cuDNN's heuristics name and our rules allow, each with a
// pick, a short text from which the same plan is built again ("62 2=4 13=0": engine 62 with its knobs).
#pragma once
#include <string>
#include <vector>

#include "runtime/cuda/cudnn/device.h"

namespace kb::cudnn {

struct PlanRules {
  bool deterministic = true;    // the same bits on every run
  bool tensor_cores = true;     // f32: products of inputs rounded to tf32
  bool compiled_later = false;  // engines that cuDNN compiles when a plan is built (seconds each)
  int64_t workspace_limit = 0;  // bytes; where no plan keeps to it, those of the least workspace are allowed
};

struct Plan {
  Descriptor plan, configuration;  // cuDNN promises no plan whose configuration has been destroyed
  std::string pick;
  int64_t workspace = 0;  // bytes
};

// At most `most` plans, the heuristics' favourite first. Never an engine whose error is not bounded by the sum of the
// absolute values of its terms (Winograd, FFT) or that sums in less than f32. Engines that cuDNN calls a fallback,
// which are slow, only where it has no other, be its workspace large. Empty: cuDNN supports no such graph.
std::vector<Plan> candidates(const Descriptor& graph, const DeviceChoice& device, const PlanRules& rules, size_t most);

// Throws Error if the pick is no plan of this graph here: made by another version of cuDNN or for another device.
Plan picked_plan(const Descriptor& graph, const DeviceChoice& device, const std::string& pick);

}  // namespace kb::cudnn
