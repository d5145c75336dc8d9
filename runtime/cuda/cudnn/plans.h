// Execution plans for an operation graph: the candidates that cuDNN's heuristics name and our rules allow. Each has a
// pick, a short text from which the same plan is built again ("62 2=4 13=0": engine 62 with its knobs).
#pragma once
#include <span>
#include <string>
#include <vector>

#include "runtime/cuda/cudnn/device.h"

namespace kb::cudnn {

struct PlanRules {
  bool deterministic = true;    // every run computes the same bits
  bool tensor_cores = true;     // f32: products of inputs that are rounded to tf32
  bool compiled_later = false;  // engines that cuDNN compiles when a plan is built (seconds each)
  int64_t workspace_limit = 0;  // bytes; if no plan keeps to it, those with the least workspace are allowed
};

struct Plan {
  Descriptor plan, configuration;  // a plan needs its configuration to exist as long as it does
  std::string pick;
  int64_t workspace = 0;  // bytes of the workspace
};

// A plan and the graph that it computes.
struct GraphPlan {
  Descriptor graph;
  Plan plan;
};

// Enqueues a plan on the handle's stream: `ids` name the graph's tensors, which lie at `addresses`.
void execute(cudnnHandle_t handle, const Plan& plan, std::span<const int64_t> ids, std::span<void* const> addresses,
             void* workspace);

// Returns at most `most` plans, the heuristics' favourite first. It never takes an engine that sums in less than f32,
// or whose error is not bounded by the sum of the absolute values of its terms (Winograd, FFT). Engines that cuDNN
// calls a fallback, which are slow, are taken only if there is no other, even one with a large workspace. Returns
// nothing when cuDNN does not support the graph.
std::vector<Plan> candidates(const Descriptor& graph, const PlanDevice& device, const PlanRules& rules, size_t most);

// Throws Error when the pick is no plan of this graph here: another version of cuDNN made it, or it is for another
// device.
Plan picked_plan(const Descriptor& graph, const PlanDevice& device, const std::string& pick);

}  // namespace kb::cudnn
