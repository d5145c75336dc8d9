// These functions lower the fused groups of a graph, run their kernels in the KernelIR interpreter, and compare the
// results with those of the graph interpreter.
#pragma once
#include <string>
#include <vector>

#include "compiler/lower/lower.h"
#include "graph/functions.h"
#include "graph/interpreter.h"
#include "tests/compiler/sample_graphs.h"
#include "tests/interpreters/kernel_interpreter.h"

namespace kb::test {

// Returns those of the groups made by `fuse` that become kernels.
std::vector<Group> kernel_groups(const Graph& graph, const Target& target);

// A lowered group with memory for its kernel's buffers. The inputs hold the values that the graph interpreter gives
// them; `expected` holds the values that it gives the outputs.
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

// Checks all groups of a graph, lowered for a CPU and for a GPU; a failure is reported with the graph's text.
void check_lowering(Graph graph, double tolerance, uint32_t seed = 1);

// Returns the KernelIR texts of all groups, one after the other.
std::string lowered_text(Graph graph, const Target& target);
// Returns CUDA C++ of all groups' kernels, one after the other, without the prelude.
std::string cuda_text(Graph graph, const Target& target);

}  // namespace kb::test
