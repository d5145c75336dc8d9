// The one pipeline: a model's graph in, the programs of a step out, with a report of every pass.
#pragma once
#include <string>
#include <vector>

#include "compiler/passes/passes.h"
#include "compiler/pipeline/pass_runner.h"
#include "compiler/schedule.h"

namespace kb {

struct Compiled {
  Program program;
  ParameterSpace space;
  Workers workers;
  std::vector<PassReport> passes;
  // Every variable of the store: flat vectors, states, tables, prepared copies, partial sums.
  std::vector<Variable> variables;
  std::string graph_hash;               // of the graph as the model gave it
  std::vector<std::string> recomputed;  // activations computed again, for memory is short: a line each
  double milliseconds = 0;
};

// Training: `graph` has the scalar outputs of options.objectives, and there are groups. Inference: no group,
// options.space of the training graph. Throws Error for the user's mistakes; InternalError, with the graph's text as a
// reproducer, for a pass that fails its check.
Compiled compile(Graph graph, const CompileOptions& options);

// The graph passes alone, for tests and tools that look at one pass: the graph before the cut.
Graph run_graph_passes(Graph graph, CompileState& state, std::vector<PassReport>& reports);

}  // namespace kb
