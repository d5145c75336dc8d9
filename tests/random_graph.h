// Random valid graphs, built through the DSL: small, varied, and so conditioned that their values stay finite and of
// moderate size, and that rounding changes no decision (ops that jump - floor, comparisons, argmax, casts to integers -
// only get operands which every backend computes exactly). Deterministic in the seed.
#pragma once
#include <cstdint>

#include "graph/graph.h"

namespace kb::test {

struct RandomGraphOptions {
  int min_steps = 5;  // random ops drawn; each makes one to five nodes
  int max_steps = 20;
  // Only ops with continuous derivatives, on floats of `dtype`; some leaves are parameters; the output "loss" is a
  // scalar that depends on all that is computed.
  bool smooth = false;
  DType dtype = DType::f32;
  int64_t max_elements = 600;  // of one tensor, about
};

Graph random_graph(uint32_t seed, const RandomGraphOptions& options = {});

}  // namespace kb::test
