// The compiler of device code over NVRTC, with the disk cache that the CPU's kernels have.
#pragma once
#include <filesystem>
#include <memory>

#include "runtime/cuda/compiler.h"
#include "runtime/cuda/nvrtc.h"

namespace kb::cuda {

// Compiles for compute capability `arch` (90: sm_90), at most `jobs` programs at once. Entries of `cache_dir` (empty:
// no cache) are found by text, options, architecture and NVRTC's version; nothing is compiled where all are there.
std::unique_ptr<Compiler> make_nvrtc_compiler(Nvrtc nvrtc, int arch, std::filesystem::path cache_dir, int jobs);

}  // namespace kb::cuda
