// The compiler of device code over NVRTC, with the disk cache that the CPU's kernels have.
#pragma once
#include <filesystem>
#include <memory>
#include <span>

#include "runtime/cuda/compiler.h"
#include "runtime/cuda/nvrtc.h"

namespace kb::cuda {

// ptxas at times spills a register or two to fit one block more on a multiprocessor. For what has spills it is asked
// again, until something has none.
struct SpillAttempt {
  const char* option;  // of NVRTC; empty: none
  const char* blocks;  // more of __launch_bounds__: how many blocks a multiprocessor should have room for
};
// With its other ideas of how many registers are many, then for room for two blocks alone, or one.
inline constexpr SpillAttempt kSpillAttempts[] = {{"--ptxas-options=--register-usage-level=0", ""},
                                                  {"--ptxas-options=--register-usage-level=10", ""},
                                                  {"", ", 2"},
                                                  {"", ", 1"}};

// Compiles for compute capability `arch` (90: sm_90), at most `jobs` programs at once. Entries of `cache_dir` (empty:
// no cache) are found by text, options, attempts, architecture and NVRTC's version; nothing is compiled where all are
// there.
std::unique_ptr<Compiler> make_nvrtc_compiler(Nvrtc nvrtc, int arch, std::filesystem::path cache_dir, int jobs,
                                              std::span<const SpillAttempt> attempts = kSpillAttempts);

}  // namespace kb::cuda
