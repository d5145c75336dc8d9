// How much memory there is for this process.
#pragma once
#include <cstdint>
#include <filesystem>

namespace kb {

// Returns the bytes of the machine's memory, or the least limit of this process's control groups (cgroup v2 memory.max,
// v1 memory.limit_in_bytes), as `docker run --memory`, Slurm's --mem or the limit of a Kubernetes pod sets it, where
// that is less. `root` is the folder in which proc and sys lie; groups that this process cannot see set no limit.
int64_t usable_memory(const std::filesystem::path& root = "/");

}  // namespace kb
