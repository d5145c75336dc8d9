#include "runtime/comm/link.h"

#include <fmt/format.h>

#include "graph/error.h"

namespace kb {

void Link::all_reduce(std::byte*, int64_t, DType, bool) { throw InternalError("this link has no all-reduce"); }

void throw_no_message(int rank, int other, double seconds, bool sending) {
  throw Error(fmt::format(
      "rank {} has been waiting for rank {} for {:g} s: {}\n  hint: rank {} has died, hangs, or is "
      "not at this point yet",
      rank, other, seconds, sending ? "it has not taken what was sent" : "nothing has come from it", other));
}

}  // namespace kb
