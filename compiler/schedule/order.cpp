// order: takes fused groups in any order; leaves them in launch order. It runs after fuse (which merges groups that
// were apart in the graph) and before plan_memory (live ranges follow the order).
//
// The order is the graph's own, as far as dependencies allow: a gradient's nodes were put next to each other, and a
// value computed again for the backward pass was put beside its reader, so graph order is also the order with short
// live ranges.
#include "compiler/schedule/order.h"

#include <algorithm>
#include <queue>
#include <utility>

#include "compiler/fuse/materialise.h"
#include "compiler/views.h"

namespace kb {
namespace {

class Orderer {
 public:
  Orderer(const Graph& graph, std::vector<Group> groups) : graph_(graph), ids_(graph), groups_(std::move(groups)) {
    producer_.assign(static_cast<size_t>(ids_.size()), -1);
    after_.resize(groups_.size());
    for (int32_t g = 0; g < count(); ++g)
      for (Value output : group(g).outputs) producer_[id(output)] = g;
    for (int32_t g = 0; g < count(); ++g)
      for (Value input : group(g).inputs) {
        Value owner = resolve_alias(graph_, input).owner;
        int32_t from = producer_[id(owner)];
        if (from >= 0 && from != g) after_[static_cast<size_t>(from)].push_back(g);
        if (graph_.node(owner).op == Op::variable)
          variable_readers_[graph_.node(owner).attrs.text("name")].push_back(g);
      }
    for (int32_t g = 0; g < count(); ++g) read_before_exchange(g);
  }

  Ordered run() {
    Ordered result;
    for (const StateWrite& write : graph_.writes) result.in_place.push_back(plan_write(write));
    for (int32_t g : sorted()) result.groups.push_back(std::move(groups_[static_cast<size_t>(g)]));
    return result;
  }

 private:
  int32_t count() const { return static_cast<int32_t>(groups_.size()); }
  const Group& group(int32_t g) const { return groups_[static_cast<size_t>(g)]; }
  size_t id(Value v) const { return static_cast<size_t>(ids_(v)); }

  // An exchange takes over the memory of the value that it adds up over workers, so every other reader of that value
  // goes first, unless it depends on the exchange.
  void read_before_exchange(int32_t exchange) {
    const Node& node = graph_.node(group(exchange).nodes.back());
    if (!is_exchange(node)) return;
    const Value taken = resolve_alias(graph_, node.inputs.back()).owner;
    const std::vector<uint8_t> later = reached(exchange);
    for (int32_t reader = 0; reader < count(); ++reader) {
      const std::vector<Value>& inputs = group(reader).inputs;
      const bool reads = std::any_of(inputs.begin(), inputs.end(),
                                     [&](Value input) { return resolve_alias(graph_, input).owner == taken; });
      if (reads && later[static_cast<size_t>(reader)] == 0) after_[static_cast<size_t>(reader)].push_back(exchange);
    }
  }

  Value plan_write(const StateWrite& write) {
    // A view of a value that a launch computes is the whole of it (resolve_alias).
    Alias source = resolve_alias(graph_, write.value);
    int32_t writer = producer_[id(source.owner)];
    ensure(graph_.find_variable(write.variable) != nullptr, "a state write names no variable");
    bool again = std::find(placed_.begin(), placed_.end(), source.owner) != placed_.end();
    if (writer < 0 || again) return {};
    std::vector<int32_t> readers = readers_of(write.variable);
    // The parts of a concat are written by the launches that compute them, whenever they run.
    if (group(writer).cls == FusionClass::copy && !readers.empty()) return {};
    const std::vector<uint8_t> later = readers.empty() ? std::vector<uint8_t>{} : reached(writer);
    for (int32_t reader : readers)
      if (reader == writer ? !reads_in_step(group(writer), write.variable) : later[static_cast<size_t>(reader)] != 0)
        return {};
    for (int32_t reader : readers)
      if (reader != writer) after_[static_cast<size_t>(reader)].push_back(writer);
    placed_.push_back(source.owner);
    return source.owner;
  }

  std::vector<int32_t> readers_of(const std::string& variable) const {
    auto at = variable_readers_.find(variable);
    return at == variable_readers_.end() ? std::vector<int32_t>{} : at->second;
  }

  // Whether the group has read element i of the variable, for all that it computes, when it writes element i: in every
  // node of the group that depends on the variable, element i must depend on the variable's element i alone.
  bool reads_in_step(const Group& writer, const std::string& variable) const {
    if (!stores_by_element(writer)) return false;
    int64_t elements = graph_.find_variable(variable)->type.elements();
    std::vector<int32_t> follow;  // nodes that follow from the variable, sorted
    for (int32_t n : writer.nodes) {
      const Node& node = graph_.node(n);
      bool follows = std::any_of(node.inputs.begin(), node.inputs.end(), [&](Value input) {
        return reads_variable(input, variable) || std::binary_search(follow.begin(), follow.end(), input.node);
      });
      if (!follows || reads_whole_rows(writer, node, elements)) continue;
      bool stays = is_pointwise(node.op) || is_view_op(graph_, node);
      if (!stays || node.type().elements() != elements) return false;
      follow.push_back(n);
    }
    return true;
  }

  // Whether the node is a fold along the group's rows, over `elements` elements in all. Such a fold has read an element
  // before that element is stored. (Moments are no fold here: they read the first element of a row again.)
  bool reads_whole_rows(const Group& group, const Node& node, int64_t elements) const {
    return group.cls == FusionClass::row_reduce && is_fold(node.op) &&
           graph_.type(node.inputs[0]).shape == group.domain && element_count(group.domain) == elements;
  }

  // Whether the group becomes one loop over elements, which computes all results of an element before it stores the
  // first of them. (A reduction over axes of extent 1 becomes two loops: one finishes its results, one goes over the
  // domain.)
  static bool stores_by_element(const Group& group) {
    if (!traits(group.cls).stores_by_element) return false;
    return group.axes.empty() || std::any_of(group.axes.begin(), group.axes.end(), [&](int64_t axis) {
             return group.domain[static_cast<size_t>(axis)] != 1;
           });
  }

  bool reads_variable(Value value, const std::string& variable) const {
    const Node& owner = graph_.node(resolve_alias(graph_, value).owner);
    return owner.op == Op::variable && owner.attrs.text("name") == variable;
  }

  // Returns 1 for each group that must come after `from`, and for `from` itself.
  std::vector<uint8_t> reached(int32_t from) const {
    std::vector<int32_t> open{from};
    std::vector<uint8_t> closed(groups_.size(), 0);
    while (!open.empty()) {
      const int32_t g = open.back();
      open.pop_back();
      if (std::exchange(closed[static_cast<size_t>(g)], 1) != 0) continue;
      open.insert(open.end(), after_[static_cast<size_t>(g)].begin(), after_[static_cast<size_t>(g)].end());
    }
    return closed;
  }

  std::vector<int32_t> sorted() const {
    std::vector<int32_t> waiting(groups_.size(), 0);
    for (const auto& next : after_)
      for (int32_t g : next) ++waiting[static_cast<size_t>(g)];
    auto key = [&](int32_t g) { return std::pair(group(g).outputs.empty() ? 0 : group(g).outputs.back().node, g); };
    auto later = [&](int32_t a, int32_t b) { return key(a) > key(b); };
    std::priority_queue<int32_t, std::vector<int32_t>, decltype(later)> ready(later);
    for (int32_t g = 0; g < count(); ++g)
      if (waiting[static_cast<size_t>(g)] == 0) ready.push(g);
    std::vector<int32_t> result;
    while (!ready.empty()) {
      int32_t g = ready.top();
      ready.pop();
      result.push_back(g);
      for (int32_t next : after_[static_cast<size_t>(g)])
        if (--waiting[static_cast<size_t>(next)] == 0) ready.push(next);
    }
    ensure(result.size() == groups_.size(), "order: fused groups form a cycle");
    return result;
  }

  const Graph& graph_;
  ValueIds ids_;
  std::vector<Group> groups_;
  std::vector<int32_t> producer_;
  std::vector<std::vector<int32_t>> after_;                                 // groups that must come later, by group
  std::unordered_map<std::string, std::vector<int32_t>> variable_readers_;  // key: the variable's name
  std::vector<Value> placed_;
};

}  // namespace

Ordered order(const Graph& graph, std::vector<Group> groups) { return Orderer(graph, std::move(groups)).run(); }

}  // namespace kb
