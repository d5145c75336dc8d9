// Random valid graphs, built through the DSL: small, varied, and so conditioned that their values stay finite and of
// moderate size, and that rounding changes no decision (ops that jump - floor, comparisons, argmax, casts to integers -
// only get operands which every backend computes exactly). Deterministic in the seed.
#pragma once
#include <cstdint>

#include "graph/interpreter.h"

namespace kb::test {

struct RandomGraphOptions {
  int min_steps = 5;  // random ops drawn; each makes one to five nodes
  int max_steps = 20;
  // Only ops with continuous derivatives, on floats of `dtype`; some leaves are parameters; the output "loss" is a
  // scalar that depends on all that is computed.
  bool smooth = false;
  DType dtype = DType::f32;
  int64_t max_elements = 600;  // of one tensor, about
  // Also integers and booleans of every width as values of their own, and extents that are primes.
  bool whole = false;
  bool split = false;  // for several workers: no sum over them is read
};

Graph random_graph(uint32_t seed, const RandomGraphOptions& options = {});

// Random values for the graph's inputs and parameters, with NaN, infinities, -0, denormal numbers and the limits of
// integers here and there: in one input of three, never in scalars, in what is an index, in what a convolution reads (a
// library may multiply its padding, zeros, by them), or in what moments are taken of (an infinity may become NaN).
Bindings special_bindings(const Graph& graph, uint32_t seed);

}  // namespace kb::test
