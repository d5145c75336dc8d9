#include "runtime/usable_memory.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "runtime/control_groups.h"

namespace kb {

int64_t usable_memory(const std::filesystem::path& root) {
  int64_t least = static_cast<int64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<int64_t>(::sysconf(_SC_PAGESIZE));
  for (const ControlGroup& group : control_groups("memory", root)) {
    std::ifstream text(group.folder / (group.is_v2 ? "memory.max" : "memory.limit_in_bytes"));
    if (int64_t bytes = 0; text >> bytes && bytes > 0) least = std::min(least, bytes);  // v2 writes "max" for no limit
  }
  return least;
}

}  // namespace kb
