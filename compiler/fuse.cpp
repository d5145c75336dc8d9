// fuse: takes the final graph; leaves groups, one a launch. It stands after every rewrite of the graph because from
// here on nodes are never changed again, and before `order` because what a launch reads and writes is only known here.
//
// Every root (a value that memory needs, see materialise.h) is a seed. Seeds are visited in graph order; each joins the
// first group it fits without making a cycle, or opens its own:
//   - point-wise on the kept extents of a reduction whose result it reads: that reduction's finish;
//   - point-wise or reducing along the same rows as a row reduction that it reads or shares an input with: same launch,
//   row in cache;
//   - a reduction of long rows that reads what a point-wise launch computes: that launch becomes one of rows;
//   - reductions over the same domain and axes that share an input, or small ones next door: one pass;
//   - point-wise over one domain, one reading the other, close neighbours sharing an input, or next-door neighbours:
//   one launch.
// Library ops take a bias that only they feed, and on a CPU a relu.
#include "compiler/fuse.h"

#include <algorithm>
#include <optional>

#include "compiler/materialise.h"

namespace kb {
namespace {

constexpr int64_t kMaxRow = 32768;  // elements of a row that stays in cache between stages
// Elements of a row that is work for all threads of a GPU's block, and not for several blocks.
constexpr int64_t kLeastShared = 512, kMostShared = 2048;
constexpr size_t kMaxOperands = 24;  // buffers of one launch
constexpr size_t kMaxGroupNodes = 240;
constexpr int32_t kNeighbours = 48;  // nodes apart at which siblings still share a launch
constexpr int32_t kNextDoor = 16;    // nodes apart at which even strangers over one domain share a launch
constexpr int kMaxVisits = 256;      // of a search for a cycle; past it the merge is not made

int64_t kept_elements(const Dims& domain, const Ints& axes) {
  int64_t kept = 1;
  for (int64_t axis = 0; axis < static_cast<int64_t>(domain.size()); ++axis)
    if (!std::binary_search(axes.begin(), axes.end(), axis)) kept *= domain[static_cast<size_t>(axis)];
  return kept;
}

// Dimensions that are not 1.
int64_t proper_rank(const Dims& shape) {
  return std::count_if(shape.begin(), shape.end(), [](int64_t extent) { return extent != 1; });
}

// Elements of a row where `axes` are the last of the domain's, but not all of them; else 0.
int64_t row_elements(const Dims& domain, const Ints& axes) {
  int64_t row = 1;
  auto rank = static_cast<int64_t>(domain.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != rank - static_cast<int64_t>(axes.size()) + static_cast<int64_t>(i)) return 0;
    row *= domain[static_cast<size_t>(axes[i])];
  }
  return axes.empty() || axes.size() == domain.size() ? 0 : row;
}

bool rows_in_cache(const Dims& domain, const Ints& axes) {
  const int64_t row = row_elements(domain, axes);
  return row > 0 && row <= kMaxRow;
}

FusionClass reduction_class(const Dims& domain, const Ints& axes) {
  if (axes.size() == domain.size()) return FusionClass::full_reduce;
  for (auto axis = static_cast<int64_t>(domain.size()); axis-- > 0;)
    if (domain[static_cast<size_t>(axis)] != 1)
      return std::binary_search(axes.begin(), axes.end(), axis) ? FusionClass::row_reduce : FusionClass::column_reduce;
  return FusionClass::full_reduce;
}

Ints reduced_axes(const Node& node) {
  return node.op == Op::argmax ? Ints{node.attrs.integer("axis")} : node.attrs.ints("axes");
}

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
  std::vector<int32_t> nodes;
  std::vector<Value> inputs;
  bool meets_group = false;  // reads a value that the group computes
};

class Fuser {
 public:
  Fuser(const Graph& graph, const Target& target)
      : graph_(graph), target_(target), memory_(choose_materialised(graph)) {
    producer_.assign(static_cast<size_t>(memory_.ids.size()), -1);
    seen_.assign(static_cast<size_t>(memory_.ids.size()), 0);
    readers_.resize(static_cast<size_t>(memory_.ids.size()));
    users_.resize(static_cast<size_t>(memory_.ids.size()));
    absorbed_.assign(graph.nodes.size(), 0);
    for (int32_t n = 0; n < count(); ++n)
      for (Value input : node(n).inputs) users_[id(input)].push_back(n);
  }

  std::vector<Group> run() {
    for (int32_t n = 0; n < count(); ++n)
      if (!absorbed_[static_cast<size_t>(n)] && is_seed(n)) place(n);
    std::vector<Group> groups;
    groups.reserve(drafts_.size());
    for (size_t g = 0; g < drafts_.size(); ++g) collect(static_cast<int32_t>(g));
    mark_outputs();
    for (Draft& draft : drafts_) groups.push_back(std::move(draft.group));
    return groups;
  }

 private:
  int32_t count() const { return static_cast<int32_t>(graph_.nodes.size()); }
  const Node& node(int32_t n) const { return graph_.nodes[static_cast<size_t>(n)]; }
  size_t id(Value v) const { return static_cast<size_t>(memory_.ids(v)); }
  Draft& draft(int32_t g) { return drafts_[static_cast<size_t>(g)]; }
  const Draft& draft(int32_t g) const { return drafts_[static_cast<size_t>(g)]; }

  bool is_seed(int32_t n) const {
    const Node& seed = node(n);
    if (seed.op == Op::variable || seed.op == Op::input) return false;
    Value result{n, 0};
    return memory_.hard[id(result)] || (memory_.root[id(result)] && memory_.owner(result).owner == result);
  }

  // ---- tracing
  // -------------------------------------------------------------------------------------------------------------------------

  bool inlines(Value v, int32_t into) const {
    size_t owner = id(memory_.owner(v).owner);
    if (into >= 0 && producer_[owner] == into) return true;
    if (!memory_.readable(v) || std::find(derived_.begin(), derived_.end(), v) != derived_.end()) return true;
    if (into < 0 || !memory_.repeatable[owner]) return false;
    const Group& group = drafts_[static_cast<size_t>(into)].group;
    return !group.axes.empty() && graph_.type(v).elements() == element_count(group.domain);
  }

  Trace trace(int32_t seed, int32_t into) {
    Trace result;
    ++stamp_;
    visit(seed, into, result);
    std::sort(result.nodes.begin(), result.nodes.end());
    return result;
  }

  void visit(int32_t n, int32_t into, Trace& result) {
    result.nodes.push_back(n);
    for (Value input : node(n).inputs) {
      if (seen_[id(input)] == stamp_) continue;
      seen_[id(input)] = stamp_;
      if (into >= 0 && producer_[id(memory_.owner(input).owner)] == into) {
        result.meets_group = true;
        if (memory_.owner(input).owner != input) visit(input.node, into, result);
        continue;
      }
      if (!inlines(input, into)) {
        result.inputs.push_back(input);
      } else if (!contains(result.nodes, input.node)) {
        visit(input.node, into, result);
      }
    }
  }

  static bool contains(const std::vector<int32_t>& nodes, int32_t n) {
    return std::find(nodes.rbegin(), nodes.rend(), n) != nodes.rend();
  }

  // ---- cycles
  // --------------------------------------------------------------------------------------------------------------------------

  // Whether group `from` reads, over any number of groups, from group `to`. Gives true when the search grows too long.
  bool depends(int32_t from, int32_t to) {
    std::vector<int32_t> open{from};
    std::vector<int32_t> closed;
    while (!open.empty()) {
      int32_t g = open.back();
      open.pop_back();
      if (g == to) return true;
      if (std::find(closed.begin(), closed.end(), g) != closed.end() || draft(g).last < draft(to).first) continue;
      closed.push_back(g);
      if (closed.size() > kMaxVisits) return true;
      open.insert(open.end(), draft(g).deps.begin(), draft(g).deps.end());
    }
    return false;
  }

  bool keeps_order(const Trace& trace, int32_t into) {
    for (Value input : trace.inputs) {
      int32_t from = producer_[id(memory_.owner(input).owner)];
      if (from >= 0 && from != into && depends(from, into)) return false;
    }
    return true;
  }

  // ---- placing seeds
  // -------------------------------------------------------------------------------------------------------------------

  void place(int32_t n) {
    const Node& seed = node(n);
    OpClass cls = info(seed.op).cls;
    if (cls == OpClass::library) return place_library(n);
    if (is_placed_concat(graph_, seed)) return open(n, FusionClass::copy, seed.type().shape, {});
    if (cls == OpClass::window) return open(n, FusionClass::window, seed.type().shape, {});
    if (seed.op == Op::carry) return open(n, FusionClass::carry, seed.type().shape, {});
    if (seed.op == Op::all_reduce) return open(n, FusionClass::exchange, seed.type().shape, {});
    if (seed.op == Op::scatter_add) return open(n, FusionClass::scatter, seed.type().shape, {});
    for (int32_t candidate : candidates(n))
      if (fits(n, candidate)) return join(n, candidate);
    if (cls != OpClass::reduction) return open(n, FusionClass::pointwise, seed.type().shape, {});
    const Dims& domain = graph_.type(seed.inputs[0]).shape;
    Ints axes = reduced_axes(seed);
    open(n, reduction_class(domain, axes), domain, axes);
  }

  // Groups that write what the seed reads or computes, nearest first; then those that read the same.
  std::vector<int32_t> candidates(int32_t n) {
    std::vector<int32_t> result;
    auto propose = [&](int32_t g) {
      if (g >= 0 && std::find(result.begin(), result.end(), g) == result.end()) result.push_back(g);
    };
    Trace alone = trace(n, -1);
    for (Value input : alone.inputs) propose(producer_[id(memory_.owner(input).owner)]);
    for (int32_t inner : alone.nodes)
      for (int32_t out = 0; out < static_cast<int32_t>(node(inner).outputs.size()); ++out)
        propose(producer_[id({inner, out})]);
    std::sort(result.begin(), result.end(), std::greater<>());
    for (Value input : alone.inputs) {
      const auto& near = readers_[id(memory_.owner(input).owner)];
      for (size_t i = near.size(); i-- > 0 && near.size() - i <= 4;) propose(near[i]);
    }
    for (auto g = static_cast<int32_t>(drafts_.size()); g-- > 0 && static_cast<int32_t>(drafts_.size()) - g <= 4;)
      propose(g);
    return result;
  }

  bool fits(int32_t n, int32_t candidate) {
    Draft& into = draft(candidate);
    if (into.group.cls == FusionClass::library || into.group.cls == FusionClass::window ||
        into.group.cls == FusionClass::scatter || into.group.cls == FusionClass::copy ||
        into.group.cls == FusionClass::carry || into.group.cls == FusionClass::exchange)
      return false;
    Trace inside = trace(n, candidate);
    if (into.nodes + inside.nodes.size() > kMaxGroupNodes || into.reads.size() + inside.inputs.size() > kMaxOperands)
      return false;
    bool shape_fits =
        info(node(n).op).cls == OpClass::reduction ? reduction_fits(n, into, inside) : pointwise_fits(n, into, inside);
    return shape_fits && keeps_order(inside, candidate);
  }

  bool shares_input(const Draft& into, const Trace& inside) const {
    for (Value input : inside.inputs) {
      Value owner = memory_.owner(input).owner;
      if (2 * graph_.type(owner).elements() > element_count(into.group.domain) &&
          std::find(into.reads.begin(), into.reads.end(), owner) != into.reads.end())
        return true;
    }
    return false;
  }

  bool near(int32_t n, const Draft& into) const { return n - into.last <= kNeighbours; }

  bool pointwise_fits(int32_t n, const Draft& into, const Trace& inside) const {
    const Dims& shape = node(n).type().shape;
    if (into.group.axes.empty()) {
      if (shape != into.group.domain || !stays_in_place(inside, into)) return false;
      bool related = inside.meets_group || reads_seed(inside, into) || (near(n, into) && shares_input(into, inside));
      return related || n - into.last <= kNextDoor;
    }
    if (into.rows && shape == into.group.domain)
      return (inside.meets_group || (near(n, into) && shares_input(into, inside))) && stays_in_place(inside, into);
    if (!inside.meets_group || node(n).type().elements() != kept_elements(into.group.domain, into.group.axes))
      return false;
    int64_t kept = node(n).type().elements();
    return stays_in_place(inside, into) && std::all_of(inside.nodes.begin(), inside.nodes.end(),
                                                       [&](int32_t m) { return node(m).type().elements() <= kept; });
  }

  // Whatever the seed takes from the group's own results it takes at its own position: an element of the domain reads
  // the same element, or the result of its own row; an element of a reduction's finish reads the same kept element.
  bool stays_in_place(const Trace& inside, const Draft& into) const {
    auto g = static_cast<int32_t>(&into - drafts_.data());
    std::vector<int32_t> follow;  // nodes that follow from the group's results, sorted
    for (int32_t m : inside.nodes) {
      bool follows = std::any_of(node(m).inputs.begin(), node(m).inputs.end(), [&](Value input) {
        return producer_[id(memory_.owner(input).owner)] == g ||
               std::binary_search(follow.begin(), follow.end(), input.node);
      });
      if (!follows) continue;
      if (!keeps_position(m, into)) return false;
      follow.push_back(m);
    }
    return true;
  }

  bool keeps_position(int32_t m, const Draft& into) const {
    const Node& step = node(m);
    OpClass cls = info(step.op).cls;
    int64_t elements = step.type().elements(), kept = kept_elements(into.group.domain, into.group.axes);
    if (cls == OpClass::pointwise) return step.type().shape == into.group.domain || elements == kept;
    if (cls == OpClass::reduction) return graph_.type(step.inputs[0]).shape == into.group.domain;
    if (step.op == Op::reshape || cls == OpClass::marker) {
      if (step.type().shape == into.group.domain) return true;
      return elements == kept && proper_rank(step.type().shape) <= proper_rank(graph_.type(step.inputs[0]).shape);
    }
    return step.op == Op::broadcast && spreads_rows(step, into);
  }

  // A broadcast of one value a row to the whole row.
  bool spreads_rows(const Node& spread, const Draft& into) const {
    const Dims& shape = graph_.type(spread.inputs[0]).shape;
    const Ints& axes = spread.attrs.ints("axes");
    if (!into.rows || spread.type().shape != into.group.domain || !std::is_sorted(axes.begin(), axes.end()))
      return false;
    if (element_count(shape) != kept_elements(into.group.domain, into.group.axes)) return false;
    for (size_t i = 0; i < shape.size(); ++i)
      if (shape[i] != 1 && std::binary_search(into.group.axes.begin(), into.group.axes.end(), axes[i])) return false;
    return true;
  }

  // The seed computes, inside itself, a value that the group writes.
  bool reads_seed(const Trace& inside, const Draft& into) const {
    return std::any_of(into.seeds.begin(), into.seeds.end(), [&](int32_t seed) {
      return std::binary_search(inside.nodes.begin(), inside.nodes.end(), seed);
    });
  }

  bool reduction_fits(int32_t n, const Draft& into, const Trace& inside) const {
    if (graph_.type(node(n).inputs[0]).shape != into.group.domain) return false;
    if (becomes_rows(n, into)) return inside.meets_group && stays_in_place(inside, into);
    if (reduced_axes(node(n)) != into.group.axes) return false;
    if (inside.meets_group) return into.rows && stays_in_place(inside, into);
    bool next_door = n - into.last <= kNextDoor && (into.rows || small_rows(into.group.domain));
    return next_door || (near(n, into) && shares_input(into, inside));
  }

  // Whether the group, point-wise so far, would be one of rows with the reduction `n` in it.
  bool becomes_rows(int32_t n, const Draft& into) const {
    if (info(node(n).op).cls != OpClass::reduction || into.group.cls != FusionClass::pointwise) return false;
    const int64_t row = row_elements(into.group.domain, reduced_axes(node(n)));
    return row >= kLeastShared && row <= kMostShared;
  }

  // Few elements a sample: sums of losses and metrics.
  static bool small_rows(const Dims& domain) { return domain.empty() || element_count(domain) <= 64 * domain[0]; }

  // ---- making groups
  // -------------------------------------------------------------------------------------------------------------------

  void open(int32_t n, FusionClass cls, Dims domain, Ints axes) {
    Draft fresh;
    fresh.group.cls = cls;
    fresh.rows = rows_in_cache(domain, axes);
    fresh.group.domain = std::move(domain);
    fresh.group.axes = std::move(axes);
    fresh.first = fresh.last = n;
    drafts_.push_back(std::move(fresh));
    join(n, static_cast<int32_t>(drafts_.size()) - 1);
  }

  void join(int32_t n, int32_t g) {
    Trace inside = trace(n, g);
    Draft& into = draft(g);
    if (becomes_rows(n, into)) {
      into.group.cls = FusionClass::row_reduce;
      into.group.axes = reduced_axes(node(n));
      into.rows = true;
    }
    into.seeds.push_back(n);
    into.first = std::min(into.first, n);
    into.last = std::max(into.last, n);
    into.nodes += inside.nodes.size();
    for (int32_t out = 0; out < static_cast<int32_t>(node(n).outputs.size()); ++out) producer_[id({n, out})] = g;
    for (Value input : inside.inputs) {
      Value owner = memory_.owner(input).owner;
      int32_t from = producer_[id(owner)];
      if (from >= 0 && from != g && std::find(into.deps.begin(), into.deps.end(), from) == into.deps.end())
        into.deps.push_back(from);
      if (std::find(into.reads.begin(), into.reads.end(), owner) != into.reads.end()) continue;
      into.reads.push_back(owner);
      readers_[id(owner)].push_back(g);
    }
  }

  void place_library(int32_t n) {
    open(n, FusionClass::library, node(n).type().shape, {});
    Draft& call = drafts_.back();
    call.group.epilogue.result = {n, 0};
    if (node(n).op != Op::conv2d && node(n).op != Op::matmul) return;
    if (std::optional<int32_t> sum = only_user(n); sum && node(*sum).op == Op::add) {
      Value bias = bias_of(*sum, n);
      if (bias.valid()) absorb(call, *sum, bias);
    }
    // The relu of a GPU's libraries need not keep NaN, so what reads the result computes it.
    if (target_.processor == Processor::gpu) return;
    int32_t last = call.group.epilogue.result.node;
    std::optional<int32_t> next = only_user(last);
    if (next && node(*next).op == Op::relu) absorb(call, *next, {});
  }

  std::optional<int32_t> only_user(int32_t n) const {
    const auto& users = users_[id({n, 0})];
    if (users.size() != 1 || memory_.needed[id({n, 0})]) return std::nullopt;
    return users[0];
  }

  // The bias vector that `sum` adds along the channels of library result `n`, as a readable value; invalid if it is no
  // such sum.
  Value bias_of(int32_t sum, int32_t n) const {
    const auto& inputs = node(sum).inputs;
    Value other = inputs[0].node == n ? inputs[1] : inputs[0];
    const Node& spread = graph_.node(other);
    if (spread.op != Op::broadcast || inputs[0] == inputs[1] || !memory_.readable(spread.inputs[0])) return {};
    Value bias = spread.inputs[0];
    int32_t from = producer_[id(memory_.owner(bias).owner)];
    if (from >= 0 && draft(from).last > n) return {};
    // Libraries add a bias of their sums' own precision.
    const DType dtype = graph_.type(bias).dtype;
    const bool fits = dtype == node(n).type().dtype && !is_low_precision(dtype);
    return fits && squeezed_axes(spread) == channel_axes(node(n)) ? bias : Value{};
  }

  // The result axes along which a broadcast's input really varies.
  Ints squeezed_axes(const Node& spread) const {
    Ints result;
    const Dims& shape = graph_.type(spread.inputs[0]).shape;
    const Ints& axes = spread.attrs.ints("axes");
    for (size_t i = 0; i < shape.size(); ++i)
      if (shape[i] != 1 || spread.type().shape[static_cast<size_t>(axes[i])] == 1) result.push_back(axes[i]);
    return result;
  }

  static Ints channel_axes(const Node& library) {
    int64_t rank = library.type().rank();
    if (library.op == Op::matmul) return rank == 2 ? Ints{1} : Ints{-1};
    if (rank == 5) return {1, 4};
    return library.attrs.has("block_out") ? Ints{3} : Ints{1};
  }

  void absorb(Draft& call, int32_t n, Value bias) {
    absorbed_[static_cast<size_t>(n)] = 1;
    call.seeds.push_back(n);
    call.last = n;
    auto g = static_cast<int32_t>(&call - drafts_.data());
    producer_[id({n, 0})] = g;
    memory_.hard[id({n, 0})] = 1;
    call.group.epilogue.result = {n, 0};
    if (bias.valid()) {
      call.group.epilogue.bias = bias;
      call.reads.push_back(memory_.owner(bias).owner);
      int32_t from = producer_[id(memory_.owner(bias).owner)];
      if (from >= 0) call.deps.push_back(from);
    } else {
      call.group.epilogue.relu = true;
    }
  }

  // ---- finishing
  // -----------------------------------------------------------------------------------------------------------------------

  void collect(int32_t g) {
    Group& group = draft(g).group;
    if (group.cls == FusionClass::library) return collect_library(draft(g));
    derived_.clear();
    Trace all = trace_group(g);
    if (drop_derived(g, all.inputs)) all = trace_group(g);
    group.nodes = std::move(all.nodes);
    group.inputs = std::move(all.inputs);
  }

  Trace trace_group(int32_t g) {
    Trace all;
    ++stamp_;
    for (int32_t seed : draft(g).seeds)
      if (!contains(all.nodes, seed)) visit(seed, g, all);
    std::sort(all.nodes.begin(), all.nodes.end());
    all.nodes.erase(std::unique(all.nodes.begin(), all.nodes.end()), all.nodes.end());
    return all;
  }

  // A cheap value whose large inputs the group reads anyway is computed again instead of read (a mask from the input it
  // was made from).
  bool drop_derived(int32_t g, const std::vector<Value>& inputs) {
    const FusionClass cls = draft(g).group.cls;
    if (cls == FusionClass::copy || cls == FusionClass::window || cls == FusionClass::carry ||
        cls == FusionClass::exchange)
      return false;
    auto reads = [&](Value v) { return std::find(inputs.begin(), inputs.end(), v) != inputs.end(); };
    for (Value input : inputs) {
      size_t owner = id(input);
      if (memory_.owner(input).owner != input || !memory_.root[owner] || !memory_.cheap[owner]) continue;
      int64_t elements = graph_.type(input).elements();
      Trace alone = trace(input.node, -1);
      bool derived = std::all_of(alone.inputs.begin(), alone.inputs.end(),
                                 [&](Value v) { return 2 * graph_.type(v).elements() < elements || reads(v); });
      if (derived) derived_.push_back(input);
    }
    return !derived_.empty();
  }

  void collect_library(Draft& call) {
    Group& group = call.group;
    group.nodes = call.seeds;
    group.inputs = node(call.seeds[0]).inputs;
    if (group.epilogue.bias.valid()) group.inputs.push_back(group.epilogue.bias);
  }

  // A group writes what another group, an output or a state write reads.
  void mark_outputs() {
    std::vector<uint8_t> wanted = memory_.needed;
    for (const Draft& reader : drafts_)
      for (Value input : reader.group.inputs) wanted[id(memory_.owner(input).owner)] = 1;
    for (Draft& writer : drafts_) {
      Group& group = writer.group;
      if (group.cls == FusionClass::library) {
        group.outputs = {group.epilogue.result};
        continue;
      }
      for (int32_t seed : writer.seeds)
        for (int32_t out = 0; out < static_cast<int32_t>(node(seed).outputs.size()); ++out)
          if (wanted[id({seed, out})] || group.cls == FusionClass::window) group.outputs.push_back({seed, out});
    }
  }

  const Graph& graph_;
  const Target& target_;
  Memory memory_;
  std::vector<Draft> drafts_;
  std::vector<int32_t> producer_;              // group that computes a value, by owner id
  std::vector<std::vector<int32_t>> readers_;  // groups that read a value, by owner id
  std::vector<std::vector<int32_t>> users_;    // nodes that read a value, by id
  std::vector<Value> derived_;                 // while a group is collected: roots that it computes again
  std::vector<uint8_t> absorbed_;              // nodes inside a library call
  std::vector<int32_t> seen_;
  int32_t stamp_ = 0;
};

}  // namespace

std::vector<Group> fuse(const Graph& graph, const Target& target) { return Fuser(graph, target).run(); }

}  // namespace kb
