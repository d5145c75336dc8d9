// A point-wise node joins a point-wise launch over its own domain if it reads or repeats one of its results, if the two
// are near in the graph and share a large input, or if they are next door to each other.
#include <algorithm>

#include "compiler/fuse/rules.h"

namespace kb {
namespace {

// Returns whether the node computes, inside itself, a value that the launch writes.
bool computes_seed(const Joining& joining) {
  const std::vector<int32_t>& nodes = joining.inside.nodes;
  return std::any_of(joining.into.seeds.begin(), joining.into.seeds.end(),
                     [&](int32_t seed) { return std::binary_search(nodes.begin(), nodes.end(), seed); });
}

}  // namespace

bool joins_pointwise(const Joining& joining) {
  if (joining.reduces() || !joining.into.group.axes.empty()) return false;
  if (domain_of(joining.drafts.graph(), {joining.n, 0}) != joining.domain() || !joining.stays_in_place()) return false;
  return joining.inside.meets_group || computes_seed(joining) || (joining.is_near() && joining.shares_input()) ||
         joining.is_next_door();
}

}  // namespace kb
