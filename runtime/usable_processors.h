// The number of processors that this process may use, and that of the machine. A launcher may have bound the process to
// some of the machine's processors, and its container may have a quota of their time.
#pragma once
#include <cstdint>
#include <filesystem>
#include <vector>

namespace kb {

// A control group, and the processor time that its processes together may use, which `docker run --cpus 1.5` or the
// limit of a Kubernetes pod sets.
struct CpuQuota {
  uint64_t group = 0;     // inode number of the group's folder, the same in every container of the machine
  double processors = 0;  // seconds of processor time in a second

  bool operator==(const CpuQuota&) const = default;
};

// Returns the quotas of this process's control groups and of all groups above them: cgroup v2 (cpu.max) and v1
// (cpu.cfs_quota_us). `root` is the folder that has proc and sys; groups that this process cannot see count as groups
// without a quota.
std::vector<CpuQuota> cpu_quotas(const std::filesystem::path& root = "/");

// Returns the number of processors that can use up a quota: 2 for 1.5.
int processors_of(const CpuQuota& quota);

// Returns the numbers of the processors in this thread's affinity mask (set by taskset or a launcher), ascending; at
// least one.
std::vector<int> affinity();

// Returns the number of processors that a process can keep busy with `in_mask` processors in its mask and these quotas;
// at least 1.
int usable_processors(int in_mask, const std::vector<CpuQuota>& quotas);

// Returns the number for this process, from this thread's mask and the quotas.
int usable_processors();

// The greatest number of threads that a backend can be given.
inline constexpr int kMostThreads = 4096;

// Returns the number of the machine's processors, whatever a launcher or a container leaves to this process.
int machine_processors();

}  // namespace kb
