#include "runtime/usable_processors.h"

#include <sched.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <iterator>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>

namespace kb {
namespace {

namespace fs = std::filesystem;

// Returns the content of a file; empty if there is none.
std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

bool has_cpu(const std::string& list) {
  const std::vector<std::string> words = split(list, ',');
  return std::find(words.begin(), words.end(), "cpu") != words.end();
}

// The mount of a hierarchy of control groups, read from a line of /proc/self/mountinfo.
struct Mount {
  bool is_v2 = false;
  std::string root;  // path in the hierarchy of the group that is mounted
  fs::path point;
};

// Parses "41 31 0:38 ROOT POINT OPTIONS ... - TYPE SOURCE SUPER_OPTIONS". Returns nothing if the mount is not a
// hierarchy of processor groups.
std::optional<Mount> parse_mount(const std::string& line) {
  const size_t dash = line.find(" - ");
  if (dash == std::string::npos) return std::nullopt;
  std::istringstream before(line), after(line.substr(dash + 3));
  std::string id, parent, device, root, point, type, source, options;
  before >> id >> parent >> device >> root >> point;
  after >> type >> source >> options;
  const bool is_v2 = type == "cgroup2";
  if (!is_v2 && (type != "cgroup" || !has_cpu(options))) return std::nullopt;
  return Mount{is_v2, root, point};
}

// Returns the group's path in its hierarchy, from the lines "HIERARCHY:CONTROLLERS:PATH" of /proc/self/cgroup.
std::optional<std::string> path_of_group(const std::vector<std::string>& groups, bool is_v2) {
  for (const std::string& line : groups) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (is_v2 ? line.starts_with("0::") : has_cpu(controllers)) return line.substr(second + 1);
  }
  return std::nullopt;
}

// Returns the group's path below the mounted group. It is empty if the group is outside of that, and the mounted group
// is all that can be seen.
fs::path below(const std::string& root, const std::string& path) {
  const fs::path relative = fs::path(path).lexically_relative(root);
  return relative.empty() || relative == "." || *relative.begin() == ".." ? fs::path() : relative;
}

std::optional<double> quota_in(const fs::path& folder, bool is_v2) {
  std::istringstream text(is_v2 ? text_of(folder / "cpu.max")
                                : text_of(folder / "cpu.cfs_quota_us") + " " + text_of(folder / "cpu.cfs_period_us"));
  double quota = 0, period = 0;  // microseconds; without a quota v2 writes "max" and v1 -1
  if (!(text >> quota >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

}  // namespace

std::vector<CpuQuota> cpu_quotas(const fs::path& root) {
  const std::vector<std::string> groups = split(text_of(root / "proc/self/cgroup"), '\n');
  std::vector<CpuQuota> quotas;
  std::set<uint64_t> seen;  // groups read so far, since a hierarchy may be mounted twice
  for (const std::string& line : split(text_of(root / "proc/self/mountinfo"), '\n')) {
    const std::optional<Mount> mount = parse_mount(line);
    const auto path = mount ? path_of_group(groups, mount->is_v2) : std::nullopt;
    if (!path) continue;
    const fs::path top = root / mount->point.relative_path();
    for (fs::path inside = below(mount->root, *path);; inside = inside.parent_path()) {
      struct stat status;
      const fs::path folder = inside.empty() ? top : top / inside;
      const std::optional<double> quota = quota_in(folder, mount->is_v2);
      if (quota && ::stat(folder.c_str(), &status) == 0 && seen.insert(status.st_ino).second)
        quotas.push_back({status.st_ino, *quota});
      if (inside.empty()) break;
    }
  }
  return quotas;
}

int processors_of(const CpuQuota& quota) {
  return std::max(1, static_cast<int>(std::ceil(std::min(quota.processors, 1e6) - 1e-6)));
}

std::vector<int> affinity() {
  std::vector<int> numbers;
  for (int most = CPU_SETSIZE; most <= (1 << 20); most *= 2) {  // the kernel refuses a set smaller than its own
    cpu_set_t* const set = CPU_ALLOC(most);
    const size_t bytes = CPU_ALLOC_SIZE(most);
    const bool known = ::sched_getaffinity(0, bytes, set) == 0;
    const bool too_small = !known && errno == EINVAL;
    for (int number = 0; known && number < most; ++number)
      if (CPU_ISSET_S(number, bytes, set)) numbers.push_back(number);
    CPU_FREE(set);
    if (!too_small) break;
  }
  if (numbers.empty()) {
    numbers.resize(static_cast<size_t>(machine_processors()));
    std::iota(numbers.begin(), numbers.end(), 0);
  }
  return numbers;
}

int usable_processors(int in_mask, const std::vector<CpuQuota>& quotas) {
  int usable = std::max(1, in_mask);
  for (const CpuQuota& quota : quotas) usable = std::min(usable, processors_of(quota));
  return usable;
}

int usable_processors() { return usable_processors(static_cast<int>(affinity().size()), cpu_quotas()); }

int machine_processors() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

}  // namespace kb
