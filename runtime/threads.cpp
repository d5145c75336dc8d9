#include "runtime/threads.h"

#include <fmt/format.h>

#include "graph/error.h"

namespace kb {

void throw_no_thread(const char* what, const std::error_code& error) {
  throw Error(fmt::format(
      "no thread can be made for {}\n  expected: room for one more\n  got:      {}\n  hint:     the limit on "
      "the user's processes and threads (ulimit -u) or on the container's (pids.max) is reached: raise it, "
      "or run with fewer --threads or fewer --processes",
      what, error.message()));
}

}  // namespace kb
