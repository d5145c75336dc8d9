// How a pass makes a new graph from an old one: copy what is needed, replace what changes. A pass with a state of its
// own derives from Rewriter.
#pragma once
#include <string>
#include <vector>

#include "compiler/views.h"
#include "graph/graph.h"

namespace kb {

// Returns the graph without the nodes on which no output and no state write depends.
Graph without_unused(const Graph& graph);

// Returns the nodes that read each node, in order; a node that reads another twice is there twice.
std::vector<std::vector<int32_t>> readers_of(const Graph& graph);

class Rewriter {
 public:
  // The new graph starts empty. Variables are copied when they are read; finish() copies those that are only written.
  explicit Rewriter(const Graph& from) : Rewriter(from, from.name) {}
  Rewriter(const Graph& from, std::string name);

  Graph& to() { return to_; }
  // Returns the new value that stands for an old one, which must have been copied or replaced.
  Value map(Value old) const;
  bool has(Value old) const { return mapped_[index(old)].valid(); }
  void replace(Value old, Value fresh) { mapped_[index(old)] = fresh; }
  // Lets the outputs of a new node stand for those of an old one that nothing stands for yet.
  void replace_outputs(int32_t old, int32_t fresh);
  // Copies one node as it is (its inputs must be mapped), and maps its outputs.
  void copy(int32_t node);
  // Copies `value` and everything it depends on that is not mapped yet.
  void copy_upto(Value value);
  // Copies everything that outputs and state writes depend on.
  void copy_needed();
  // Returns a flag for each node: whether outputs or state writes depend on it, when replaced values read nothing.
  std::vector<uint8_t> needed() const;
  // Maps outputs and state writes.
  void map_results();
  // Maps outputs and state writes, and gives the new graph away.
  Graph finish();

 protected:
  // Adds a node to the new graph, at the scope and place of `like`, a node of the old one.
  Value add(const Node& like, Op op, std::vector<Value> inputs, Attrs attrs);

  const Graph& from_;
  Graph to_;

 private:
  size_t index(Value v) const { return static_cast<size_t>(ids_(v)); }
  void mark(Value v, std::vector<uint8_t>& marks) const;

  ValueIds ids_;
  std::vector<Value> mapped_;
};

}  // namespace kb
