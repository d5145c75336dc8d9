// Random valid graphs, built through the DSL. They are small and varied; their values stay finite and of moderate size,
// and rounding changes no decision: ops that jump (floor, comparisons, argmax, casts to integers) only get operands
// which every backend computes exactly. Equal seeds give equal graphs.
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
  int64_t max_elements = 600;  // about the most elements that a tensor has
  // Also integers and booleans of every width as values of their own, and extents that are primes.
  bool whole = false;
  bool split = false;  // several workers run the graph, so no op reads a sum over workers
  // Many convolutions, of images whose channels come in blocks of 8, some of them large enough to be recomputed.
  bool blocks = false;
  // Also composites: attention, sorting, recurrent and normalising layers, second derivatives; and, in smooth graphs
  // too, ops with kinks, of operands which every backend computes exactly.
  bool layers = false;
};

Graph random_graph(uint32_t seed, const RandomGraphOptions& options = {});

// Returns random values for the graph's inputs and parameters. One input of three has NaN, infinities, -0, denormal
// numbers or the limits of integers here and there. Special values never stand in scalars and indices, nor in values
// that a convolution reads (a library may multiply its padding, zeros, by them) or that moments are taken of (an
// infinity may become NaN).
Bindings special_bindings(const Graph& graph, uint32_t seed);

}  // namespace kb::test
