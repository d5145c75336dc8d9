// Runs graphs through the whole compiler and on the CPU backend, and compares the results with the graph interpreter's.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "runtime/backend.h"
#include "tests/support/compile_check.h"

namespace kb::test {

std::unique_ptr<Backend> cpu(int threads = 2);
void set_bytes(std::byte* to, const Array& array);

// A graph and how it is judged; its target is the backend's.
struct CheckedGraph {
  std::string name;
  Graph graph;
  CheckOptions options;
};

void check_graph(Backend& backend, const Graph& graph, CheckOptions options);
// Compiles the kernels of all graphs at once, so that the compiler is started once. A graph that fails is named, and
// the others go on. Returns the number of values that were compared.
int64_t check_graphs(const std::vector<CheckedGraph>& graphs);

}  // namespace kb::test
