#include "runtime/usable_memory.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace kb {
namespace {

namespace fs = std::filesystem;

// Returns the least limit of a control group and of those above it. A group that another name space hides is skipped,
// and so is the text "max", which v2 writes when there is no limit.
int64_t least_limit(const fs::path& top, const fs::path& group, const char* file, int64_t least) {
  for (fs::path inside = group.relative_path();; inside = inside.parent_path()) {
    std::ifstream text(top / inside / file);
    if (int64_t bytes = 0; text >> bytes && bytes > 0) least = std::min(least, bytes);
    if (inside.empty()) return least;
  }
}

}  // namespace

int64_t usable_memory(const fs::path& root) {
  int64_t least = static_cast<int64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<int64_t>(::sysconf(_SC_PAGESIZE));
  const fs::path groups = root / "sys/fs/cgroup";
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {  // each line is "HIERARCHY:CONTROLLERS:PATH"
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const fs::path group = line.substr(second + 1);
    if (line.starts_with("0::")) least = least_limit(groups, group, "memory.max", least);
    if (line.substr(first + 1, second - first - 1) == "memory")
      least = least_limit(groups / "memory", group, "memory.limit_in_bytes", least);
  }
  return least;
}

}  // namespace kb
