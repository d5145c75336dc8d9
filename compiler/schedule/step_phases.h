// Which nodes of a program belong to the forward pass, to the backward pass and to the update.
#pragma once
#include <vector>

#include "compiler/step_programs.h"
#include "graph/graph.h"

namespace kb {

struct NodePhases {
  enum Part : uint8_t { forward, backward, update };
  // All of these have one entry per node.
  std::vector<Part> part;
  std::vector<int32_t> same_as;  // an earlier node, whose value this one computes again; or the node itself
  std::vector<uint8_t> gradient_of_parameters;  // 1: the value becomes a part of the flat gradient

  bool again(int32_t node) const { return same_as[static_cast<size_t>(node)] != node; }
};

// Returns the phases of the nodes of one part of a step.
NodePhases node_phases(const Graph& graph, PartRole role);

}  // namespace kb
