// The pass fuse takes the final graph and leaves groups, one for each launch. It stands after every rewrite of the
// graph because nodes never change after it, and before `order`, which needs to know what launches read and write.
//
// Every root (a value that memory needs, see materialise.h) is a seed. Seeds are visited in graph order; each joins the
// first group that a rule lets it into without making a cycle, or opens its own. Ops that run alone open their groups
// at once; library ops then take an epilogue. A convolution that is a product of matrices opens a point-wise group,
// which takes in what reads its result.
#include "compiler/fuse/fuse.h"

#include <algorithm>
#include <functional>

#include "compiler/fuse/domain.h"
#include "compiler/fuse/rules.h"

namespace kb {
namespace {

constexpr size_t kMaxOperands = 24;     // most buffers of one launch
constexpr size_t kMaxGroupNodes = 240;  // most nodes of one launch
constexpr ptrdiff_t kMaxRecent = 4;     // how many of the last launches, and of an input's last readers, are asked

bool may_join(const Drafts& drafts, int32_t n, int32_t group, const Trace& inside) {
  const Draft& into = drafts[group];
  if (into.nodes + inside.nodes.size() > kMaxGroupNodes || into.reads.size() + inside.inputs.size() > kMaxOperands)
    return false;
  const Joining joining{drafts, n, group, into, inside};
  if (into.group.product >= 0 && !joins_product(joining)) return false;
  return joins(joining) && drafts.keeps_order(inside, group);
}

// Returns the groups that seed `n` may ask to join: first those that write what it reads, the latest first;
// then the latest that read the same values; then the latest of all.
std::vector<int32_t> candidates(Drafts& drafts, int32_t n) {
  std::vector<int32_t> result;
  const auto propose = [&](int32_t g) {
    if (g >= 0 && std::find(result.begin(), result.end(), g) == result.end()) result.push_back(g);
  };
  const Trace alone = drafts.trace(n, -1);
  for (Value input : alone.inputs) propose(drafts.writer_behind(input));
  std::sort(result.begin(), result.end(), std::greater<>());
  for (Value input : alone.inputs) {
    const std::vector<int32_t>& readers = drafts.readers(input);
    const ptrdiff_t recent = std::min(std::ssize(readers), kMaxRecent);
    std::for_each(readers.rbegin(), readers.rbegin() + recent, propose);
  }
  for (int32_t g = drafts.size(); g-- > 0 && drafts.size() - g <= kMaxRecent;) propose(g);
  return result;
}

// Returns the class of a launch that the node makes up alone; pointwise if others may share its launch. A gradient of
// pooling gathers each of its elements from few windows, and so is point-wise to a GPU; a CPU goes through the rows of
// windows.
FusionClass class_alone(const Graph& graph, const Node& seed, bool on_gpu) {
  const OpClass cls = info(seed.op).cls;
  if (cls == OpClass::library) return FusionClass::library;
  if (is_placed_concat(graph, seed)) return FusionClass::copy;
  const bool gathers = seed.op == Op::max_pool_grad || seed.op == Op::sum_pool_grad;
  if (cls == OpClass::window) return gathers && on_gpu ? FusionClass::pointwise : FusionClass::window;
  if (seed.op == Op::carry) return FusionClass::carry;
  if (seed.op == Op::all_reduce) return FusionClass::exchange;
  if (seed.op == Op::index_order) return FusionClass::order;
  if (seed.op == Op::scatter_add) return FusionClass::scatter;
  return FusionClass::pointwise;
}

void join_or_open(Drafts& drafts, int32_t n) {
  for (int32_t group : candidates(drafts, n)) {
    if (!traits(drafts[group].group.cls).shared) continue;
    const Trace inside = drafts.trace(n, group);
    if (may_join(drafts, n, group, inside)) return drafts.join(n, group, inside);
  }
  const Node& seed = drafts.node(n);
  if (info(seed.op).cls != OpClass::reduction) {
    drafts.open(n, FusionClass::pointwise, domain_of(drafts.graph(), {n, 0}), {});
    return;
  }
  const Dims& domain = drafts.graph().type(seed.inputs[0]).shape;
  const Ints axes = reduced_axes(seed);
  drafts.open(n, reduction_class(domain, axes), domain, axes);
}

}  // namespace

std::vector<Group> fuse(const Graph& graph, const Target& target) {
  Drafts drafts(graph, target.processor == Processor::gpu);
  Epilogues epilogues(drafts, target);
  for (int32_t n = 0; n < graph.size(); ++n) {
    if (!drafts.is_seed(n)) continue;
    if (const Multiplier by = multiplier_of(graph, drafts.node(n), target); by != Multiplier::library) {
      const int32_t group = drafts.open(n, FusionClass::pointwise, drafts.node(n).type().shape, {});
      drafts[group].group.product = n;
      drafts[group].group.by_warpgroups = by == Multiplier::warpgroups;
      continue;
    }
    const FusionClass alone = class_alone(graph, drafts.node(n), drafts.on_gpu());
    if (alone == FusionClass::pointwise) {
      join_or_open(drafts, n);
      continue;
    }
    const int32_t group = drafts.open(n, alone, drafts.node(n).type().shape, {});
    if (alone != FusionClass::library) continue;
    ensure(!drafts.on_gpu() || !is_wide_filter_gradient(graph, drafts.node(n)),
           "fuse: a gradient of filters of 16 bits is f32, but the library of a GPU gives 16 bits: library_gradients "
           "took it for a product of ours");
    epilogues.add(n, group);
  }
  return collect(drafts);
}

}  // namespace kb
