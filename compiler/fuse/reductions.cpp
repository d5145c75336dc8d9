// A reduction joins another over the same domain and axes if it reads that one's results and rows stay in cache, if it
// reads what a pass over columns writes, if the two are near in the graph and share a large input, or if they are next
// door and rows stay in cache or are small. One pass over memory then serves both.
#include "compiler/fuse/domain.h"
#include "compiler/fuse/rules.h"

namespace kb {
namespace {

// Returns whether there are few elements for each index of the leading axis (samples), as in sums of losses.
bool small_rows(const Dims& domain) { return domain.empty() || element_count(domain) <= 64 * domain[0]; }

}  // namespace

bool joins_reductions(const Joining& joining) {
  if (!joining.reduces_domain() || reduced_axes(joining.node()) != joining.into.group.axes) return false;
  if (joining.inside.meets_group)
    return (joining.into.rows || joining.into.group.cls == FusionClass::column_reduce) && joining.stays_in_place();
  if (joining.is_next_door() && (joining.into.rows || small_rows(joining.domain()))) return true;
  return joining.is_near() && joining.shares_input();
}

}  // namespace kb
