// The update of one group of parameters: what its rule sees and leaves, over a range of the parameter space.
#pragma once
#include <span>
#include <string>

#include "compiler/passes/parameter_space.h"
#include "graph/tensor.h"

namespace kb {

// What all groups of a step share. Parameters and gradient are those of all groups: (blocks, elements of a block).
struct SharedUpdate {
  const ParameterSpace& space;
  Tensor parameters = {}, gradient = {};
  Tensor finite = {};    // boolean [], whether the gradient is finite; invalid without a loss scale
  bool several = false;  // groups: their names stand before those of slots and scalars
  bool reports = false;  // what rules report becomes outputs
};

// The scalar input `name` of the step, which is made where the graph has none.
Value step_scalar(Graph& graph, const std::string& name, DType dtype);

// The Euclidean norm of each of the segments, which lie one after the other in x: (segments, 1).
Tensor segment_norms(const Tensor& x, std::span<const Segment> segments, int64_t block);

// Calls the group's rule, writes its slots, and gives its new parameters, a flat vector over the group's range. Throws
// Error for a rule that gives another shape, or reads a slot and does not set it.
Value update_group(const SharedUpdate& shared, const ParameterGroup& group, int32_t number);

}  // namespace kb
