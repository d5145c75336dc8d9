#include "compiler/fuse/joining.h"

#include <algorithm>

#include "compiler/fuse/domain.h"

namespace kb {
namespace {

constexpr int32_t kNeighbours = 48;  // most nodes apart at which siblings still share a launch
constexpr int32_t kNextDoor = 16;    // most nodes apart at which even strangers over one domain share a launch

// Returns whether `spread` broadcasts one value of each row to the whole row.
bool spreads_rows(const Graph& graph, const Node& spread, const Draft& into) {
  const Dims& shape = graph.type(spread.inputs[0]).shape;
  const Ints& axes = spread.attrs.ints("axes");
  if (!into.rows || spread.type().shape != into.group.domain || !std::is_sorted(axes.begin(), axes.end())) return false;
  if (element_count(shape) != kept_elements(into.group.domain, into.group.axes)) return false;
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != 1 && std::binary_search(into.group.axes.begin(), into.group.axes.end(), axes[i])) return false;
  return true;
}

// Returns whether each element of `step` reads its input only at the same element, row or kept element of the launch.
bool keeps_position(const Graph& graph, const Node& step, const Draft& into) {
  const Dims& domain = into.group.domain;
  const OpClass cls = info(step.op).cls;
  const int64_t elements = step.type().elements(), kept = kept_elements(domain, into.group.axes);
  if (cls == OpClass::pointwise) return step.type().shape == domain || elements == kept;
  if (step.op == Op::pack_bits) return graph.type(step.inputs[0]).shape == domain;
  if (step.op == Op::unpack_bits) return step.type().shape == domain;
  if (cls == OpClass::reduction) return graph.type(step.inputs[0]).shape == domain;
  if (step.op == Op::reshape || cls == OpClass::marker) {
    if (step.type().shape == domain) return true;
    return elements == kept && proper_rank(step.type().shape) <= proper_rank(graph.type(step.inputs[0]).shape);
  }
  return step.op == Op::broadcast && spreads_rows(graph, step, into);
}

}  // namespace

bool Joining::is_near() const { return n - into.last <= kNeighbours; }
bool Joining::is_next_door() const { return n - into.last <= kNextDoor; }

bool Joining::shares_input() const {
  return std::any_of(inside.inputs.begin(), inside.inputs.end(), [&](Value input) {
    const Value owner = drafts.owner(input);
    return 2 * drafts.graph().type(owner).elements() > element_count(domain()) &&
           std::find(into.reads.begin(), into.reads.end(), owner) != into.reads.end();
  });
}

bool Joining::stays_in_place() const {
  std::vector<int32_t> follow;  // nodes that depend on the launch's results, sorted
  for (int32_t m : inside.nodes) {
    const Node& step = drafts.node(m);
    const bool follows = std::any_of(step.inputs.begin(), step.inputs.end(), [&](Value input) {
      return drafts.writer_behind(input) == group || std::binary_search(follow.begin(), follow.end(), input.node);
    });
    if (!follows) continue;
    if (!keeps_position(drafts.graph(), step, into)) return false;
    follow.push_back(m);
  }
  return true;
}

}  // namespace kb
