// A point-wise node on the kept extents of a reduction whose result it reads joins the reduction's launch, as its
// finish: nothing that it computes inside itself is larger than the result.
#include <algorithm>

#include "compiler/fuse/domain.h"
#include "compiler/fuse/rules.h"

namespace kb {

bool joins_finish(const Joining& joining) {
  const Group& group = joining.into.group;
  if (joining.reduces() || group.axes.empty() || !joining.inside.meets_group) return false;
  const int64_t kept = joining.node().type().elements();
  if (kept != kept_elements(group.domain, group.axes) || !joining.stays_in_place()) return false;
  const std::vector<int32_t>& nodes = joining.inside.nodes;
  return std::all_of(nodes.begin(), nodes.end(),
                     [&](int32_t m) { return joining.drafts.node(m).type().elements() <= kept; });
}

}  // namespace kb
