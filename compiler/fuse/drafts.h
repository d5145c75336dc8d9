// Drafts are the groups that fusion is still making: which nodes each launch has so far, what it reads, and which
// launch reads from which. The rules of fusion (compiler/fuse/rules.h) look at them; the driver
// (compiler/fuse/fuse.cpp) opens and fills them.
#pragma once
#include <vector>

#include "compiler/fuse/materialise.h"
#include "compiler/schedule.h"
#include "graph/graph.h"

namespace kb {

// A group to which fusion may still add nodes.
struct Draft {
  Group group;
  std::vector<int32_t> seeds;   // nodes whose results the group is made to compute
  std::vector<int32_t> deps;    // numbers of the groups that it reads from
  std::vector<Value> reads;     // owners of the values that it reads, as far as known
  size_t nodes = 0;             // number of nodes that its seeds brought in
  int32_t first = 0, last = 0;  // smallest and largest node number of the seeds
  bool rows = false;            // true for a row reduction whose rows stay in cache
};

// The nodes that are computed, and the values that are read, to compute a seed inside a group.
struct Trace {
  std::vector<int32_t> nodes;  // sorted
  std::vector<Value> inputs;
  bool meets_group = false;  // whether a value is read that the group computes
};

class Drafts {
 public:
  Drafts(const Graph& graph, bool on_gpu);

  bool on_gpu() const { return on_gpu_; }
  const Graph& graph() const { return graph_; }
  const Materialised& materialised() const { return materialised_; }
  const Node& node(int32_t n) const { return graph_.node(n); }
  size_t id(Value v) const { return static_cast<size_t>(materialised_.ids(v)); }
  Value owner(Value v) const { return materialised_.owner(v).owner; }

  int32_t size() const { return static_cast<int32_t>(drafts_.size()); }
  Draft& operator[](int32_t g) { return drafts_[static_cast<size_t>(g)]; }
  const Draft& operator[](int32_t g) const { return drafts_[static_cast<size_t>(g)]; }

  // Returns the group that computes the value in whose memory `v` lies; -1 if there is none so far.
  int32_t writer_behind(Value v) const { return producer_[id(owner(v))]; }
  // Returns the groups that read from the memory that `v` lies in.
  const std::vector<int32_t>& readers(Value v) const { return readers_[id(owner(v))]; }

  // Returns whether a node opens a group or joins one: memory needs its result, and no library call took it in.
  bool is_seed(int32_t n) const;
  // Follows the inputs of a seed up to what group `into` (-1: a group of its own) reads from memory.
  Trace trace(int32_t seed, int32_t into);
  // Traces all seeds of a group together.
  Trace trace_group(int32_t g);
  // Makes traces follow these values too, although they are in memory.
  void compute_again(std::vector<Value> values) { again_ = std::move(values); }
  // Returns false if reading what `trace` reads would make group `into` wait for itself.
  bool keeps_order(const Trace& trace, int32_t into) const;

  // Makes a group of one node and returns its number.
  int32_t open(int32_t n, FusionClass cls, Dims domain, Ints axes);
  // Puts a node into a group. A reduction turns a point-wise group into a reduction over its axes.
  void join(int32_t n, int32_t g, const Trace& inside);
  // Puts `n`, the only reader of a library call's result, inside the call, whose result is then that of `n`.
  void absorb(int32_t n, int32_t g);
  // Makes the call add `bias`, a value in memory, to its result.
  void add_bias(int32_t g, Value bias);

 private:
  bool inlines(Value v, int32_t into) const;
  void visit(int32_t n, int32_t into, Trace& result);
  bool depends(int32_t from, int32_t to) const;

  const Graph& graph_;
  const bool on_gpu_;
  Materialised materialised_;
  std::vector<Draft> drafts_;
  std::vector<int32_t> producer_;              // group that computes each value, by value id; -1: none
  std::vector<std::vector<int32_t>> readers_;  // groups that read each value, by the id of its owner
  std::vector<uint8_t> absorbed_;              // 1 for a node inside a library call
  std::vector<Value> again_;                   // values that `compute_again` gave
  std::vector<int32_t> seen_;                  // number of the last trace that met each value, by value id
  int32_t stamp_ = 0;                          // number of the trace at work
};

}  // namespace kb
