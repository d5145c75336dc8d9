#include "compiler/fuse/drafts.h"

#include <algorithm>

#include "compiler/fuse/domain.h"

namespace kb {
namespace {

constexpr size_t kMaxVisits = 256;  // most groups that a search for a cycle visits before it refuses the merge

bool has_node(const std::vector<int32_t>& nodes, int32_t n) {
  return std::find(nodes.rbegin(), nodes.rend(), n) != nodes.rend();
}

template <class T>
void add_once(std::vector<T>& list, T item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
}

void reduce_axes(Draft& draft, FusionClass cls, Ints axes) {
  draft.group.cls = cls;
  draft.rows = rows_in_cache(draft.group.domain, axes);
  draft.group.axes = std::move(axes);
}

}  // namespace

Drafts::Drafts(const Graph& graph, bool on_gpu)
    : graph_(graph), on_gpu_(on_gpu), materialised_(choose_materialised(graph, on_gpu)) {
  const auto values = static_cast<size_t>(materialised_.ids.size());
  producer_.assign(values, -1);
  seen_.assign(values, 0);
  readers_.resize(values);
  absorbed_.assign(graph.nodes.size(), 0);
}

bool Drafts::is_seed(int32_t n) const {
  const Op op = node(n).op;
  if (absorbed_[static_cast<size_t>(n)] || op == Op::variable || op == Op::input) return false;
  const Value result{n, 0};
  return materialised_.hard[id(result)] || (materialised_.root[id(result)] && owner(result) == result);
}

// ---- tracing

bool Drafts::inlines(Value v, int32_t into) const {
  const size_t behind = id(owner(v));
  if (into >= 0 && producer_[behind] == into) return true;
  if (!materialised_.readable(v) || std::find(again_.begin(), again_.end(), v) != again_.end()) return true;
  if (into < 0 || !materialised_.repeatable[behind]) return false;
  const Group& group = (*this)[into].group;
  return !group.axes.empty() && graph_.type(v).elements() == element_count(group.domain);
}

void Drafts::visit(int32_t n, int32_t into, Trace& result) {
  result.nodes.push_back(n);
  for (Value input : node(n).inputs) {
    if (seen_[id(input)] == stamp_) continue;
    seen_[id(input)] = stamp_;
    if (into >= 0 && writer_behind(input) == into) {
      result.meets_group = true;
      if (owner(input) != input) visit(input.node, into, result);
      continue;
    }
    if (!inlines(input, into)) {
      result.inputs.push_back(input);
    } else if (!has_node(result.nodes, input.node)) {
      visit(input.node, into, result);
    }
  }
}

Trace Drafts::trace(int32_t seed, int32_t into) {
  Trace result;
  ++stamp_;
  visit(seed, into, result);
  std::sort(result.nodes.begin(), result.nodes.end());
  return result;
}

Trace Drafts::trace_group(int32_t g) {
  Trace all;
  ++stamp_;
  for (int32_t seed : (*this)[g].seeds)
    if (!has_node(all.nodes, seed)) visit(seed, g, all);
  std::sort(all.nodes.begin(), all.nodes.end());
  all.nodes.erase(std::unique(all.nodes.begin(), all.nodes.end()), all.nodes.end());
  return all;
}

// ---- cycles

// Returns whether group `from` reads, over any number of groups, from group `to`; also true if the search is too long.
bool Drafts::depends(int32_t from, int32_t to) const {
  std::vector<int32_t> open{from};
  std::vector<int32_t> closed;
  while (!open.empty()) {
    const int32_t g = open.back();
    open.pop_back();
    if (g == to) return true;
    const Draft& draft = (*this)[g];
    if (std::find(closed.begin(), closed.end(), g) != closed.end() || draft.last < (*this)[to].first) continue;
    closed.push_back(g);
    if (closed.size() > kMaxVisits) return true;
    open.insert(open.end(), draft.deps.begin(), draft.deps.end());
  }
  return false;
}

bool Drafts::keeps_order(const Trace& trace, int32_t into) const {
  return std::none_of(trace.inputs.begin(), trace.inputs.end(), [&](Value input) {
    const int32_t from = writer_behind(input);
    return from >= 0 && from != into && depends(from, into);
  });
}

// ---- making groups

int32_t Drafts::open(int32_t n, FusionClass cls, Dims domain, Ints axes) {
  const int32_t g = size();
  Draft fresh;
  fresh.group.domain = std::move(domain);
  reduce_axes(fresh, cls, std::move(axes));
  fresh.first = fresh.last = n;
  drafts_.push_back(std::move(fresh));
  join(n, g, trace(n, g));
  return g;
}

void Drafts::join(int32_t n, int32_t g, const Trace& inside) {
  Draft& into = (*this)[g];
  const bool reduces = info(node(n).op).cls == OpClass::reduction && !reduced_axes(node(n)).empty();
  if (reduces && into.group.cls == FusionClass::pointwise)
    reduce_axes(into, reduction_class(into.group.domain, reduced_axes(node(n))), reduced_axes(node(n)));
  into.seeds.push_back(n);
  into.first = std::min(into.first, n);
  into.last = std::max(into.last, n);
  into.nodes += inside.nodes.size();
  for (int32_t out = 0; out < static_cast<int32_t>(node(n).outputs.size()); ++out) producer_[id({n, out})] = g;
  for (Value input : inside.inputs) {
    const int32_t from = writer_behind(input);
    if (from >= 0 && from != g) add_once(into.deps, from);
    const Value behind = owner(input);
    if (std::find(into.reads.begin(), into.reads.end(), behind) != into.reads.end()) continue;
    into.reads.push_back(behind);
    readers_[id(behind)].push_back(g);
  }
}

void Drafts::absorb(int32_t n, int32_t g) {
  Draft& call = (*this)[g];
  absorbed_[static_cast<size_t>(n)] = 1;
  call.seeds.push_back(n);
  call.last = n;
  producer_[id({n, 0})] = g;
  materialised_.hard[id({n, 0})] = 1;
  call.group.epilogue.result = {n, 0};
}

void Drafts::add_bias(int32_t g, Value bias) {
  Draft& call = (*this)[g];
  call.group.epilogue.bias = bias;
  call.reads.push_back(owner(bias));
  if (const int32_t from = writer_behind(bias); from >= 0) call.deps.push_back(from);
}

}  // namespace kb
