// Groups in the making: which nodes each launch has so far, what it reads, and which launch reads from which. The rules
// of fusion (compiler/fuse/rules.h) look at them; the driver (compiler/fuse/fuse.cpp) opens and fills them.
#pragma once
#include <vector>

#include "compiler/fuse/materialise.h"
#include "compiler/schedule.h"
#include "graph/graph.h"

namespace kb {

// A group in the making.
struct Draft {
  Group group;
  std::vector<int32_t> seeds;  // nodes whose results this group is for
  std::vector<int32_t> deps;   // groups it reads from
  std::vector<Value> reads;    // values it reads, as far as known (owners)
  size_t nodes = 0;
  int32_t first = 0, last = 0;  // smallest and largest seed
  bool rows = false;            // row reduction whose rows stay in cache
};

// Nodes and reads that computing a seed inside a group takes.
struct Trace {
  std::vector<int32_t> nodes;  // sorted
  std::vector<Value> inputs;
  bool meets_group = false;  // reads a value that the group computes
};

class Drafts {
 public:
  explicit Drafts(const Graph& graph);

  const Graph& graph() const { return graph_; }
  const Memory& memory() const { return memory_; }
  const Node& node(int32_t n) const { return graph_.nodes[static_cast<size_t>(n)]; }
  size_t id(Value v) const { return static_cast<size_t>(memory_.ids(v)); }
  Value owner(Value v) const { return memory_.owner(v).owner; }

  int32_t size() const { return static_cast<int32_t>(drafts_.size()); }
  Draft& operator[](int32_t g) { return drafts_[static_cast<size_t>(g)]; }
  const Draft& operator[](int32_t g) const { return drafts_[static_cast<size_t>(g)]; }

  // The group that computes exactly this value, or the memory that it lies in; -1: none so far.
  int32_t writer(Value v) const { return producer_[id(v)]; }
  int32_t writer_behind(Value v) const { return producer_[id(owner(v))]; }
  // Groups that read from the memory that `v` lies in.
  const std::vector<int32_t>& readers(Value v) const { return readers_[id(owner(v))]; }

  // True for a node that opens a group or joins one: memory needs its result, and no library call took it in.
  bool is_seed(int32_t n) const;
  // Follows the inputs of a seed up to what group `into` (-1: one of its own) reads from memory.
  Trace trace(int32_t seed, int32_t into);
  // Does so for all seeds of a group. Values given to `compute_again` are followed too, although they are in memory.
  Trace trace_group(int32_t g);
  void compute_again(std::vector<Value> values) { again_ = std::move(values); }
  // False where reading what `trace` reads would make group `into` wait for itself.
  bool keeps_order(const Trace& trace, int32_t into) const;

  // Makes a group of one node and gives its number.
  int32_t open(int32_t n, FusionClass cls, Dims domain, Ints axes);
  // Puts a node into a group. A reduction makes a point-wise group one that reduces its axes.
  void join(int32_t n, int32_t g, const Trace& inside);
  // Puts `n`, the only reader of a library call's result, inside the call, whose result it then is.
  void absorb(int32_t n, int32_t g);
  // The call adds `bias`, a value in memory, to its result.
  void add_bias(int32_t g, Value bias);

 private:
  bool inlines(Value v, int32_t into) const;
  void visit(int32_t n, int32_t into, Trace& result);
  bool depends(int32_t from, int32_t to) const;

  const Graph& graph_;
  Memory memory_;
  std::vector<Draft> drafts_;
  std::vector<int32_t> producer_;              // group that computes a value, by owner id
  std::vector<std::vector<int32_t>> readers_;  // groups that read a value, by owner id
  std::vector<uint8_t> absorbed_;              // nodes inside a library call
  std::vector<Value> again_;
  std::vector<int32_t> seen_;
  int32_t stamp_ = 0;
};

}  // namespace kb
