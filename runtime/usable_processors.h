// How many processors there are: for this process, which a launcher may have bound to some of the machine's and whose
// container may have a quota of their time, and in the machine.
#pragma once
#include <cstdint>
#include <filesystem>
#include <vector>

namespace kb {

// A control group whose processes together get so much of the processors' time, as `docker run --cpus 1.5` or the
// limit of a Kubernetes pod sets it.
struct CpuQuota {
  uint64_t group = 0;     // inode number of the group's folder, the same in every container of the machine
  double processors = 0;  // seconds of processor time a second

  bool operator==(const CpuQuota&) const = default;
};

// The quotas of this process's control groups and of every group above them: cgroup v2 (cpu.max) and v1
// (cpu.cfs_quota_us). `root` is the folder in which proc and sys lie; groups that this process cannot see count as
// groups without a quota.
std::vector<CpuQuota> cpu_quotas(const std::filesystem::path& root = "/");

// Processors that a quota stands for: 1.5 are 2, so that the quota can be used up.
int processors_of(const CpuQuota& quota);

// The numbers of the processors in this thread's affinity mask (taskset, a launcher's binding), ascending; never empty.
std::vector<int> affinity();

// Processors that a process may keep busy with `in_mask` processors in its mask: at least 1.
int usable_processors(int in_mask, const std::vector<CpuQuota>& quotas);

// Returns how many processors this process may keep busy, by this thread's mask and the quotas.
int usable_processors();

// Threads that a backend may be asked for at most.
inline constexpr int kMostThreads = 4096;

// Returns how many processors the machine has, whatever a launcher or a container leaves to this process.
int machine_processors();

}  // namespace kb
