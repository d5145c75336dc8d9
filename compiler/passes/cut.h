// Cuts one graph into the programs of a training step.
#pragma once
#include <vector>

#include "compiler/passes/passes.h"
#include "compiler/step_programs.h"

namespace kb {

struct CutPart {
  PartRole role = PartRole::final;
  Graph graph;
};

// Holds one part for every role, in the order of PartRole.
struct Cut : StepPrograms<CutPart> {
  std::vector<Variable>
      partial_sums;  // variables named by the bindings of the routines and by `final`; a process keeps them for a step
};

// Splits a step. Values that depend on parameters alone and are kept in another form for a whole step (packed or
// transposed weights, low-precision copies) move into `prepare`. `micro` holds what precedes the worker_sums; in
// `final` the carries of the partial sums that are left, and the all-reduce over processes, replace a worker_sum.
Cut cut(const Graph& graph, const Target& target, const Workers& workers = {});

}  // namespace kb
