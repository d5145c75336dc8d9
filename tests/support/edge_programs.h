// The table of edges: small programs in which every op meets every dtype that it takes, ranks 0 to 5, extents of 1,
// primes and large ones, axes in many orders, indices at their limits, NaN, infinities, signed zeros, denormal numbers
// and the limits of integers. Whoever runs them compares with the graph interpreter.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "tests/support/compile_check.h"

namespace kb::test {

struct EdgeProgram {
  std::string name;
  Graph graph;
  CheckOptions options;  // with the values of all inputs and variables
  bool exact = false;    // point-wise: another processor gives the same bits
};

struct EdgeTable {
  std::vector<EdgeProgram> programs;
  // Calls that the shape rules refused, with what the user reads: point-wise ops on dtypes that they do not take.
  std::vector<std::string> refusals;
};
// `all`: every dtype in every shape; else each shape has three of them, and every rank all.
EdgeTable edge_table(bool all = false);

// Returns the ops of the table's programs, gradients included.
std::set<Op> ops_of(const EdgeTable& table);

}  // namespace kb::test
