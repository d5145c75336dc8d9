// A reduction joins one over the same domain and axes: when it reads that one's results and rows stay in cache; when
// both share a large input nearby; or next door, when rows stay in cache or are small. One pass then does for both.
#include "compiler/fuse/domain.h"
#include "compiler/fuse/rules.h"

namespace kb {
namespace {

// Few elements a sample: sums of losses and metrics.
bool small_rows(const Dims& domain) { return domain.empty() || element_count(domain) <= 64 * domain[0]; }

}  // namespace

bool joins_reductions(const Joining& joining) {
  if (!joining.reduces() || joining.drafts.graph().type(joining.node().inputs[0]).shape != joining.domain())
    return false;
  if (reduced_axes(joining.node()) != joining.into.group.axes) return false;
  if (joining.inside.meets_group) return joining.into.rows && joining.stays_in_place();
  if (joining.is_next_door() && (joining.into.rows || small_rows(joining.domain()))) return true;
  return joining.is_near() && joining.shares_input();
}

}  // namespace kb
