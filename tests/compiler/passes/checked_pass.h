// Applies one pass to a graph, for tests of passes that change a graph for a processor.
#pragma once
#include "compiler/passes/passes.h"
#include "compiler/pipeline/check_passes.h"
#include "graph/text.h"

namespace kb::test {

// Returns the graph after the pass. Throws Error if that is not well formed, or if a value is another one.
inline Graph checked_pass(const std::string& name, Pass pass, const Graph& before, const Target& target,
                          const Workers& workers = {}) {
  CompileOptions options;
  options.target = target;
  options.workers = workers;
  CompileState state{options, {}, {}};
  Graph after = pass(before, state);
  verify(after);
  check_pass(name, before, after, state);
  return after;
}

}  // namespace kb::test
