// How a pass makes a new graph from an old one: copy what is needed, replace what changes.
#pragma once
#include <vector>

#include "compiler/views.h"
#include "graph/graph.h"

namespace kb {

// The graph without nodes that no output and no state write depends on.
Graph without_unused(const Graph& graph);

class Rewriter {
 public:
  // `to` starts empty. Variables are copied when they are read; finish() copies those that are only written.
  Rewriter(const Graph& from, Graph& to);

  // The new value that stands for an old one; it must have been copied or replaced.
  Value map(Value old) const;
  bool has(Value old) const { return mapped_[index(old)].valid(); }
  void replace(Value old, Value fresh) { mapped_[index(old)] = fresh; }
  // Copies one node as it is (its inputs must be mapped), and maps its outputs.
  void copy(int32_t node);
  // Copies everything `value` depends on that is not mapped yet, and the value.
  void copy_upto(Value value);
  // Copies everything that outputs and state writes depend on.
  void copy_needed();
  // Nodes that outputs and state writes depend on, replaced values cut off; by node.
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
