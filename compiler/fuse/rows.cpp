// A point-wise node joins a launch over its own domain whose rows stay in cache if it reads the launch's results at its
// own row, or if the two are near in the graph and share a large input: the row is then read from memory once.
#include "compiler/fuse/rules.h"

namespace kb {

bool joins_rows(const Joining& joining) {
  if (joining.reduces() || !joining.into.rows || joining.node().type().shape != joining.domain()) return false;
  const bool related = joining.inside.meets_group || (joining.is_near() && joining.shares_input());
  return related && joining.stays_in_place();
}

}  // namespace kb
