// Printed kernels in, entry points out. Each kernel is compiled once per text, compiler, flags and processor, and kept
// on disk as `<key>.so`; the kernels compiled together share one file under several names (hard links). Every entry is
// checked before it is loaded: a damaged one, one for another processor, or one that another user could have written
// (runtime/trusted_folder.h), is deleted and built again with one line of warning. Any number of processes may fill one
// cache at once: entries appear whole, and equal ones are interchangeable.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/host_compiler.h"
#include "runtime/kernel_batch.h"

namespace kb {

struct LoadedKernels {
  std::vector<void*> entry;           // one a kernel of the batch, valid until the process ends
  int64_t cache_hits = 0;             // distinct kernels found on disk
  int64_t compiled = 0;               // distinct kernels compiled
  double jit_ms = 0;                  // the whole call
  std::vector<std::string> warnings;  // lines that were also written to standard error
};

// "k_" and 16 hexadecimal digits of the hash of `text`, which holds some fixed placeholder where the name will stand:
// equal kernels get equal names, and different ones may live in one shared object.
std::string kernel_name(std::string_view text);

std::string kernel_key(const KernelBatch& batch, const KernelSource& kernel, const HostCompiler& compiler);

// Loads what `cache_dir` has and compiles the rest in at most `jobs` compiler processes at once. Where the directory
// cannot be written, a private temporary one serves this call. kb::Error where the compiler is missing or cannot do its
// work (no space, no memory); InternalError, with a command that repeats it, where it refuses a kernel's text.
LoadedKernels load_kernels(const KernelBatch& batch, const HostCompiler& compiler,
                           const std::filesystem::path& cache_dir, int jobs);

}  // namespace kb
