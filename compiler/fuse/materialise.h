// The first half of fusion chooses which values are written to memory. All others are computed inside the launches that
// read them.
#pragma once
#include <vector>

#include "compiler/views.h"

namespace kb {

// Says which values are in memory, and why. Each vector has an entry for each value, by its id.
struct Materialised {
  explicit Materialised(const Graph& graph);
  const Graph& graph;
  ValueIds ids;
  std::vector<Alias> alias;     // the value that owns its memory
  std::vector<uint8_t> root;    // 1 if a launch computes the value and writes it
  std::vector<uint8_t> hard;    // 1 if it is always in memory: a variable, an input, a placed concat, packed bits, or
                                // a result of a library, window, scatter or exchange op or of a reduction
  std::vector<uint8_t> needed;  // 1 if it must be in memory whoever reads it (rule 1 below)
  std::vector<uint8_t> cheap;   // 1 if it takes at most two large inputs, no math function and few nodes
  std::vector<uint8_t> repeatable;  // 1 for a cheap root that is not needed: a reduction may compute it again

  // Returns whether the value itself is in memory or is a view of one that is.
  bool readable(Value v) const;
  const Alias& owner(Value v) const { return alias[static_cast<size_t>(ids(v))]; }
};

// Returns whether `node` is a concat along the leading extent, whose inputs are written straight into their places.
bool is_placed_concat(const Graph& graph, const Node& node);

// Returns whether the op sorts indices or adds rows at indices, in a launch of its own.
inline bool is_scatter(Op op) { return op == Op::index_order || op == Op::scatter_add; }

// Returns whether `node` adds up over workers in the memory of its last input, which its result replaces.
bool is_exchange(const Node& node);

// Returns whether `value` is a constant, or a view of one, with all bits zero: a placed concat clears that part instead
// of copying it.
bool is_zeros(const Graph& graph, Value value);

// Chooses the values in memory by these rules, in this order:
// 1. Needed are graph outputs, state writes, inputs of library, window, scatter and exchange ops and of placed concats,
// and tables of gather. On a GPU a window op whose windows overlap little computes a cheap input inside.
// 2. A small computed value that is broadcast is written once instead of computed again for every element, unless it is
// one or two nodes that neither divide nor take a root, or a single element without a math function.
// 3. A value with several readers is written if reading its inputs again costs more: it has three or more large inputs,
// calls a math function, or takes its elements from a concat of many parts, where those of concats in it count as well:
// a chain of concats, each read by a layer, would else be nested in all its readers.
// 4. An expression never grows past a bound, so that kernels stay small and fusion stays linear.
Materialised choose_materialised(const Graph& graph, bool on_gpu);

}  // namespace kb
