// How a pass makes a new graph from an old one: copy what is needed, replace what changes.
#pragma once
#include <vector>

#include "compiler/views.h"
#include "graph/graph.h"

namespace kb {

// Returns the graph without the nodes on which no output and no state write depends.
Graph without_unused(const Graph& graph);

class Rewriter {
 public:
  // `to` starts empty. Variables are copied when they are read; finish() copies those that are only written.
  Rewriter(const Graph& from, Graph& to);

  // Returns the new value that stands for an old one, which must have been copied or replaced.
  Value map(Value old) const;
  bool has(Value old) const { return mapped_[index(old)].valid(); }
  void replace(Value old, Value fresh) { mapped_[index(old)] = fresh; }
  // Copies one node as it is (its inputs must be mapped), and maps its outputs.
  void copy(int32_t node);
  // Copies `value` and everything it depends on that is not mapped yet.
  void copy_upto(Value value);
  // Copies everything that outputs and state writes depend on.
  void copy_needed();
  // Returns a flag for each node: whether outputs or state writes depend on it, when replaced values read nothing.
  std::vector<uint8_t> needed() const;
  // Maps outputs and state writes.
  void finish();

 private:
  size_t index(Value v) const { return static_cast<size_t>(ids_(v)); }
  void mark(Value v, std::vector<uint8_t>& marks) const;

  const Graph& from_;
  Graph& to_;
  ValueIds ids_;
  std::vector<Value> mapped_;
};

}  // namespace kb
