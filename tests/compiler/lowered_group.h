// Lowers fused groups of a graph and runs the kernels in the KernelIR interpreter against the graph interpreter.
#pragma once
#include <string>
#include <vector>

#include "compiler/kernel/interpreter.h"
#include "compiler/lower/lower.h"
#include "graph/functions.h"
#include "graph/interpreter.h"
#include "tests/compiler/sample_graphs.h"

namespace kb::test {

// The groups of `graph` that become kernels, as `fuse` makes them.
std::vector<Group> kernel_groups(const Graph& graph, const Target& target);

// A lowered group with memory for its kernel's buffers: inputs as the graph interpreter has them, and what it has for
// the outputs.
struct GroupRun {
  Lowered lowered;
  std::vector<Array> expected;
  std::vector<std::vector<std::byte>> bytes;
  std::vector<ir::Memory> memory;
};
GroupRun prepare_group(const Graph& graph, const Group& group, const Target& target, uint32_t seed = 1);

// Runs one lowered group on the values that the graph interpreter gives for its inputs, and fails the running test
// where an output is further from the interpreter's than `tolerance` times the largest magnitude there.
void check_group(const Graph& graph, const Group& group, const Target& target, double tolerance, uint32_t seed = 1);

// All groups of a graph, for the CPU's and a GPU's target; the graph's text goes with a failure.
void check_lowering(Graph graph, double tolerance, uint32_t seed = 1);

// KernelIR texts of all groups, one after the other.
std::string lowered_text(Graph graph, const Target& target);
// Returns CUDA C++ of all groups' kernels, one after the other, without the prelude.
std::string cuda_text(Graph graph, const Target& target);

}  // namespace kb::test
