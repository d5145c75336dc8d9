// recompute: takes a graph in physical layouts. Leaves it as it is if memory suffices; else leaves one in which cheap
// values with a long pause between their readers (forward, then backward) are computed again instead of kept, so that
// normalised activations and masks are never stored. It stands after simplify, because no later pass may merge equal
// nodes again, and before fuse, which inlines the second computation where it can.
//
// A value is computed again if its late readers stand more than kPause nodes after its early ones, and if a few cheap
// point-wise ops lead to it from small values and one value of its own size that is in memory then anyway (a batch
// norm's input).
#include <fmt/format.h>

#include <algorithm>

#include "compiler/kernel/math.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace kb {
namespace {

constexpr int32_t kPause = 64;             // nodes between two readers
constexpr size_t kMaxCone = 24;            // nodes computed again for one value
constexpr int64_t kMinRowElements = 1024;  // elements of one sample; smaller values are not worth a launch
constexpr int64_t kSmall = 16;             // a value this many times smaller counts as small

bool is_cheap(Op op) { return (is_pointwise(op) && !calls_math(op)) || op == Op::broadcast; }

class Recompute : Rewriter {
 public:
  Recompute(const Graph& from, CompileState& state)
      : Rewriter(from), state_(state), users_(readers_of(from)), last_use_(from.nodes.size(), -1) {
    for (int32_t n = from.size(); n-- > 0;)
      for (int32_t user : users_[static_cast<size_t>(n)])
        last_use_[static_cast<size_t>(n)] = std::max(last_use_[static_cast<size_t>(n)], last_read(user));
  }

  Graph run() {
    std::vector<std::vector<int32_t>> clones(from_.nodes.size());  // values to compute again before a node
    for (int32_t n = 0; n < from_.size(); ++n)
      if (int32_t late = late_reader(n); late >= 0 && is_recomputable(n, late))
        clones[static_cast<size_t>(late)].push_back(n);
    for (int32_t n = 0; n < from_.size(); ++n) {
      for (int32_t value : clones[static_cast<size_t>(n)]) clone(value);
      if (!has({n, 0})) copy(n);
    }
    return finish();
  }

 private:
  static int64_t row_elements(const Type& type) {
    return type.rank() == 0 || type.shape[0] == 0 ? 0 : type.elements() / type.shape[0];
  }

  // Returns when a reader reads. A cheap reader is computed inside its own readers, so the last of them counts.
  int32_t last_read(int32_t user) const {
    return is_cheap(from_.node(user).op) ? std::max(user, last_use_[static_cast<size_t>(user)]) : user;
  }

  // Returns whether the value would be kept in memory at all: a library or window op reads it.
  bool is_kept(int32_t n) const {
    const auto& users = users_[static_cast<size_t>(n)];
    return std::any_of(users.begin(), users.end(), [&](int32_t user) {
      OpClass cls = info(from_.node(user).op).cls;
      return cls == OpClass::library || cls == OpClass::window;
    });
  }

  // Returns the first reader after the longest pause; -1 if no pause is long.
  int32_t late_reader(int32_t n) const {
    if (!is_cheap(from_.node(n).op) || from_.node(n).op == Op::broadcast ||
        row_elements(from_.node(n).type()) < kMinRowElements || !is_kept(n))
      return -1;
    const auto& users = users_[static_cast<size_t>(n)];
    int32_t best = -1, longest = kPause;
    for (size_t i = 1; i < users.size(); ++i)
      if (users[i] - users[i - 1] > longest) longest = users[i] - users[i - 1], best = users[i];
    return best;
  }

  // A constant that is filled with one number takes no memory.
  bool is_small(Value v, const Type& like) const {
    const Node& node = from_.node(v);
    const bool is_filled = node.op == Op::constant && node.attrs.reals("values").size() == 1;
    return is_filled || node.type(v.out).elements() * kSmall <= like.elements();
  }

  // Returns the large nodes between `n` and its source, in order; none if they are too many or if `n` follows from
  // several large values.
  std::vector<int32_t> cone(int32_t n, Value& source) const {
    std::vector<int32_t> nodes, open{n};
    const Type& type = from_.node(n).type();
    while (!open.empty()) {
      int32_t m = open.back();
      open.pop_back();
      if (std::find(nodes.begin(), nodes.end(), m) != nodes.end()) continue;
      nodes.push_back(m);
      if (nodes.size() > kMaxCone) return {};
      for (Value input : from_.node(m).inputs) {
        if (is_small(input, type)) continue;
        if (is_cheap(from_.node(input).op)) {
          open.push_back(input.node);
        } else if (source.valid() && !(source == input)) {
          return {};
        } else {
          source = input;
        }
      }
    }
    std::sort(nodes.begin(), nodes.end());
    return nodes;
  }

  // Returns whether the source is in memory at the node `late` anyway: it is no result that a launch writes, as an
  // input is none, or something beside the value `n` needs it there: a reader of the source, or of what leads from it
  // to `n`. Else the source would be kept in the place of the value.
  bool lives_anyway(int32_t source, const std::vector<int32_t>& nodes, int32_t n, int32_t late) const {
    const OpClass cls = info(from_.node(source).op).cls;
    if (cls != OpClass::library && cls != OpClass::window) return true;
    const auto is_read = [&](int32_t m) {
      return m != n && std::ranges::any_of(users_[static_cast<size_t>(m)], [&](int32_t user) {
               return !std::ranges::binary_search(nodes, user) && last_read(user) >= late;
             });
    };
    return is_read(source) || std::ranges::any_of(nodes, is_read);
  }

  bool is_recomputable(int32_t n, int32_t late) {
    Value source;
    std::vector<int32_t> nodes = cone(n, source);
    if (nodes.empty() || !source.valid() || !lives_anyway(source.node, nodes, n, late)) return false;
    const Node& value = from_.node(n);
    state_.recomputed.push_back(fmt::format("recompute {} {} ({}): {} bytes not kept, {} bytes read again",
                                            name(value.op), from_.scopes[static_cast<size_t>(value.scope)],
                                            from_.place(value), value.type().bytes(), from_.type(source).bytes()));
    return true;
  }

  void clone(int32_t n) {
    Value source;
    std::unordered_map<int32_t, int32_t> fresh;
    for (int32_t m : cone(n, source)) {
      Node copy = from_.node(m);
      for (Value& input : copy.inputs) {
        auto at = fresh.find(input.node);
        input = at == fresh.end() ? map(input) : Value{at->second, 0};
      }
      fresh[m] = to_.append(from_, std::move(copy));
    }
    replace({n, 0}, {fresh.at(n), 0});
  }

  CompileState& state_;
  std::vector<std::vector<int32_t>> users_;
  std::vector<int32_t> last_use_;
};

}  // namespace

Graph recompute(Graph graph, CompileState& state) {
  return state.options.recompute ? Recompute(graph, state).run() : graph;
}

}  // namespace kb
