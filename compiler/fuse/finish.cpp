// A point-wise node joins the launch of a reduction as its finish if it reads the reduction's result, has as many
// elements as the result, and computes nothing larger inside itself.
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
