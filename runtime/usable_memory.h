// The memory that this process may use.
#pragma once
#include <cstdint>
#include <filesystem>

namespace kb {

// Returns the bytes of the machine's memory or, if it is less, the least limit of this process's control groups (cgroup
// v2 memory.max, v1 memory.limit_in_bytes), which `docker run --memory`, Slurm's --mem or the limit of a Kubernetes pod
// sets. `root` is the folder that has proc and sys; groups that this process cannot see set no limit.
int64_t usable_memory(const std::filesystem::path& root = "/");

}  // namespace kb
