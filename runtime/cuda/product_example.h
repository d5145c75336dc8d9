// A program around one product of matrices, for trials of who computes it faster.
#pragma once
#include "graph/graph.h"

namespace kb::cuda {

// Returns a program that computes the product, and from it what a step of a residual net does. A gradient of filters is
// read as it is, in 16 bits, which all sides can give.
Graph example_of(const Graph& from, Node product);

}  // namespace kb::cuda
