// compile() is the whole pipeline: it takes a model's graph and returns the programs of a step and a report of every
// pass.
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
  std::string graph_hash;               // content hash of the graph as the model gave it
  std::vector<std::string> recomputed;  // a line for each activation computed again because memory is short
  double milliseconds = 0;
};

// To train, `graph` has the scalar outputs that options.objectives names, and options has parameter groups. To infer,
// options has no group, and options.space is that of the training graph. compile() throws Error for the user's
// mistakes, and InternalError, with the graph's text as a reproducer, for a pass that fails its check.
Compiled compile(Graph graph, const CompileOptions& options);

// Runs only the passes after the cut, on a program that is in physical layouts already.
Schedule compile_program(Graph graph, const CompileOptions& options);

// Runs the graph passes alone, for tests and tools that look at one pass, and returns the graph before the cut.
Graph run_graph_passes(Graph graph, CompileState& state, std::vector<PassReport>& reports);

}  // namespace kb
