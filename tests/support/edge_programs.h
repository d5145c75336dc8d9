// The table of edges: small programs in which every op meets every dtype that it takes, ranks 0 to 5, extents of 1,
// primes and large ones, axes in many orders, indices at their limits, NaN, infinities, signed zeros, denormal numbers
// and the limits of integers. A test that runs them compares the results with the graph interpreter's.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "tests/support/compile_check.h"

namespace kb::test {

struct EdgeProgram {
  std::string name;
  Graph graph;
  CheckOptions options;  // they hold the values of all inputs and variables
  bool exact = false;    // every processor must give equal bits
};

struct EdgeTable {
  std::vector<EdgeProgram> programs;
  // Calls that the shape rules refused, with what the user reads: point-wise ops on dtypes that they do not take.
  std::vector<std::string> refusals;
};
// Returns the table. `all`: every shape has every dtype; otherwise each shape has about one dtype, which differs from
// shape to shape, and of the composites only f32 has every shape.
EdgeTable edge_table(bool all = false);

// Returns the ops of the table's programs, gradients included.
std::set<Op> ops_of(const EdgeTable& table);

}  // namespace kb::test
