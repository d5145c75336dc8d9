// A point-wise node joins a launch over its own domain whose rows stay in cache if the two are near in the graph, and
// it reads the launch's results at its own row or both share a large input: the row is then read from memory once. One
// that stands far behind is computed where it is read, as what recompute computes again in backward: a softmax that
// forward wrote a second time would be kept until then.
#include "compiler/fuse/rules.h"

namespace kb {

bool joins_rows(const Joining& joining) {
  if (joining.reduces() || !joining.into.rows || joining.node().type().shape != joining.domain()) return false;
  const bool related = joining.inside.meets_group || joining.shares_input();
  return joining.is_near() && related && joining.stays_in_place();
}

}  // namespace kb
