// A reduction of columns joins a point-wise launch on a GPU whose results it reads, which thereby becomes a launch of
// columns: an element is written, and added to its column's sums, in one pass over memory.
#include "compiler/fuse/domain.h"
#include "compiler/fuse/rules.h"

namespace kb {

bool makes_columns(const Joining& joining) {
  if (!joining.drafts.on_gpu() || !joining.reduces_domain() || joining.into.group.cls != FusionClass::pointwise)
    return false;
  return reduction_class(joining.domain(), reduced_axes(joining.node())) == FusionClass::column_reduce &&
         joining.inside.meets_group && joining.stays_in_place();
}

}  // namespace kb
