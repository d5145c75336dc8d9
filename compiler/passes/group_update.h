// Builds the update of one group of parameters: calls its rule on its range of the parameter space.
#pragma once
#include <span>
#include <vector>

#include "compiler/passes/parameter_space.h"
#include "graph/tensor.h"

namespace kb {

// Values that the groups of a step share. Parameters hold all groups, shape (blocks, elements of a block); the gradient
// holds those that learn, which stand before the others.
struct SharedUpdate {
  const ParameterSpace& space;
  Tensor parameters = {}, gradient = {};
  std::vector<int32_t> together = {};  // numbers of the groups that the same losses move as the group, which is one
  Tensor finite = {};                  // boolean [], whether the gradient is finite; invalid without a loss scale
  bool several = false;                // there are several groups: a group's name stands before its slots and scalars
  bool reports = false;                // values that rules report become outputs of the graph
};

// Returns the Euclidean norm of each segment, shape (segments, 1). The segments lie one after the other in x.
Tensor segment_norms(const Tensor& x, std::span<const Segment> segments, int64_t block);

// Calls the group's rule, writes its slots, and returns its new parameters, a flat vector over the group's range.
// Throws Error for a rule that returns another shape, or that reads a slot and does not set it.
Value update_group(const SharedUpdate& shared, const ParameterGroup& group, int32_t number);

}  // namespace kb
