#include "runtime/comm/link.h"

#include "runtime/comm/patience.h"

#include <fmt/format.h>

#include "graph/error.h"

namespace kb {

size_t Link::wait_any(std::span<const int> handles) {
  constexpr std::chrono::microseconds kLongest{500};
  for (Patience patience(kLongest);; patience.rest())
    for (size_t i = 0; i < handles.size(); ++i)
      if (test(handles[i])) return i;
}

void Link::all_reduce(std::byte*, int64_t, DType, bool) { throw InternalError("this link has no all-reduce"); }

void throw_no_message(int rank, int other, double seconds, bool sending) {
  throw Error(fmt::format(
      "rank {} has been waiting for rank {} for {:g} s: {}\n  hint: rank {} has died, hangs, or is "
      "not at this point yet",
      rank, other, seconds, sending ? "it has not taken what was sent" : "nothing has come from it", other));
}

}  // namespace kb
