// Compiles printed kernels and returns their entry points. A kernel is compiled once for each text, compiler, flags and
// processor, and kept on disk as `<key>.so`; kernels that are compiled together share one file under several names
// (hard links). Every entry is checked before it is loaded. One that is damaged, made for another processor, or
// writable by another user (runtime/trusted_folder.h) is deleted and rebuilt, with one line of warning. Many processes
// may fill one cache at once: an entry appears whole, and equal ones are interchangeable.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/host_compiler.h"
#include "runtime/kernel_batch.h"

namespace kb {

struct LoadedKernels : KernelCost {
  std::vector<void*> entry;           // one for each kernel of the batch, valid until the process ends
  std::vector<std::string> warnings;  // lines that were also written to standard error
};

std::string kernel_key(const KernelBatch& batch, const KernelSource& kernel, const HostCompiler& compiler);

// Loads the kernels that `cache_dir` has, and compiles the others with at most `jobs` compiler processes at once. If
// the directory cannot be written, a private temporary one serves this call. Throws kb::Error when the compiler is
// missing or cannot work (no space, no memory), and InternalError, with a command that repeats it, when it refuses a
// kernel's text.
LoadedKernels load_kernels(const KernelBatch& batch, const HostCompiler& compiler,
                           const std::filesystem::path& cache_dir, int jobs);

}  // namespace kb
