// A reduction of long rows joins a point-wise launch whose results it reads, which thereby becomes a launch of rows. A
// row is long if it is work for all threads of one block of a GPU, but not for several blocks.
#include "compiler/fuse/domain.h"
#include "compiler/fuse/rules.h"

namespace kb {
namespace {

constexpr int64_t kLeastShared = 512, kMostShared = 2048;  // least and most elements of such a row

}  // namespace

bool makes_rows(const Joining& joining) {
  if (!joining.reduces_domain() || joining.into.group.cls != FusionClass::pointwise) return false;
  const int64_t row = row_elements(joining.domain(), reduced_axes(joining.node()));
  return row >= kLeastShared && row <= kMostShared && joining.inside.meets_group && joining.stays_in_place();
}

}  // namespace kb
