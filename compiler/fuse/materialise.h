// The first half of fusion: which values are written to memory. All others are computed inside the launches that read
// them.
#pragma once
#include <vector>

#include "compiler/views.h"

namespace kb {

struct Memory {
  explicit Memory(const Graph& graph) : graph(graph), ids(graph) {}
  const Graph& graph;
  ValueIds ids;
  std::vector<Alias> alias;     // by value id
  std::vector<uint8_t> root;    // computed by a launch and written
  std::vector<uint8_t> hard;    // in memory by nature: variables, inputs, results of library, window, scatter, exchange
                                // ops, reductions, placed concats
  std::vector<uint8_t> needed;  // must be in memory whoever reads it: outputs, state writes, what library ops read
  std::vector<uint8_t> cheap;   // at most two large inputs, no function call, few nodes
  std::vector<uint8_t> repeatable;  // cheap root that nothing needs: a reduction may compute it again

  // The value itself is in memory, or it is a view of one that is.
  bool readable(Value v) const;
  const Alias& owner(Value v) const { return alias[static_cast<size_t>(ids(v))]; }
};

// A concat along the leading extent: its inputs are written straight into their places.
bool is_placed_concat(const Graph& graph, const Node& node);

// Adds up over workers, in the memory of its last input: it takes what is in memory and leaves it there.
bool is_exchange(const Node& node);

// A constant (or a view of one) all of whose bits are zero: a placed concat clears its part instead of copying it.
bool is_zeros(const Graph& graph, Value value);

// Rules, in this order:
// 1. needed: graph outputs, state writes, inputs of library, window, scatter ops and placed concats, tables of gather.
// 2. a small computed value that is broadcast is written once instead of computed again for every element (single
// elements excepted).
// 3. a value with several readers is written when reading its inputs again costs more: three or more large inputs, or
// an expensive function.
// 4. an expression never grows past a bound, so that kernels stay small and fusion stays linear.
Memory choose_materialised(const Graph& graph);

}  // namespace kb
