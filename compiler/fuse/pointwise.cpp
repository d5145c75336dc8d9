// A point-wise node joins a point-wise launch over its own domain if it reads one of its results, if the two are
// near in the graph and share a large input, or if they are next door to each other.
#include "compiler/fuse/rules.h"

namespace kb {

bool joins_pointwise(const Joining& joining) {
  if (joining.reduces() || !joining.into.group.axes.empty()) return false;
  if (domain_of(joining.drafts.graph(), {joining.n, 0}) != joining.domain() || !joining.stays_in_place()) return false;
  return joining.inside.meets_group || (joining.is_near() && joining.shares_input()) || joining.is_next_door();
}

}  // namespace kb
