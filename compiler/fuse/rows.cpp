// A point-wise node over the domain of a launch whose rows stay in cache joins it when it reads the launch's results at
// its own row, or shares a large input nearby: the row is read from memory once.
#include "compiler/fuse/rules.h"

namespace kb {

bool joins_rows(const Joining& joining) {
  if (joining.reduces() || !joining.into.rows || joining.node().type().shape != joining.domain()) return false;
  const bool related = joining.inside.meets_group || (joining.is_near() && joining.shares_input());
  return related && joining.stays_in_place();
}

}  // namespace kb
