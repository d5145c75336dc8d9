#include "runtime/usable_processors.h"

#include <sched.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <numeric>
#include <optional>
#include <set>
#include <thread>

#include "runtime/control_groups.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

std::optional<double> quota_of(const ControlGroup& group) {
  std::ifstream first(group.folder / (group.is_v2 ? "cpu.max" : "cpu.cfs_quota_us"));
  std::ifstream second(group.folder / "cpu.cfs_period_us");
  double quota = 0, period = 0;  // microseconds; without a quota v2 writes "max" and v1 -1
  if (!(first >> quota) || !((group.is_v2 ? first : second) >> period) || quota <= 0 || period <= 0)
    return std::nullopt;
  return quota / period;
}

}  // namespace

std::vector<CpuQuota> cpu_quotas(const fs::path& root) {
  std::vector<CpuQuota> quotas;
  std::set<uint64_t> seen;  // groups read so far, since a hierarchy may be mounted twice
  for (const ControlGroup& group : control_groups("cpu", root)) {
    struct stat status;
    const std::optional<double> quota = quota_of(group);
    if (quota && ::stat(group.folder.c_str(), &status) == 0 && seen.insert(status.st_ino).second)
      quotas.push_back({status.st_ino, *quota});
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
