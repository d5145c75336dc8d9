// The cut of one graph into the programs of a step.
#pragma once
#include <string>
#include <vector>

#include "compiler/passes.h"

namespace kb {

struct Cut {
  Graph prepare;  // writes the "prepared.N" variables that the others read
  Graph micro;    // writes "leaf.GROUP": a virtual worker's flat vectors; empty with one virtual worker
  Graph carry;    // "carry.sum.GROUP" = "carry.below.GROUP" + "carry.own.GROUP"; empty with one virtual worker
  Graph final;
};

// Splits a step. Values that depend on parameters alone and are kept in another form for a whole step (packed or
// transposed weights, low-precision copies) move into `prepare`. `micro` holds what precedes the worker_sums; in
// `final` the carries of the partial sums that are left, and the all-reduce over processes, replace a worker_sum.
Cut cut(const Graph& graph, const Target& target, const Workers& workers = {});

// How many partial sums a process with so many virtual workers keeps: those of levels [0, carry_levels).
int64_t carry_levels(int64_t virtual_workers);
// The variable that holds the sum over 2^level virtual workers.
std::string partial_name(int64_t level, const std::string& group);
// Every variable that a process keeps for partial sums.
std::vector<Variable> partial_variables(const Cut& cut, const Workers& workers);

}  // namespace kb
