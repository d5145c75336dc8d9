// The compiler of device code: NVRTC, with the same disk cache as the CPU's kernels.
#pragma once
#include <filesystem>
#include <memory>
#include <span>

#include "runtime/cuda/compiler.h"
#include "runtime/cuda/nvrtc.h"

namespace kb::cuda {

// ptxas sometimes spills a register or two so that one block more fits on a multiprocessor. A kernel that spills is
// compiled again with each of these options, until one does not spill.
struct SpillAttempt {
  const char* option;  // option of NVRTC; empty: none
  // Further argument of __launch_bounds__: number of blocks that a multiprocessor should have room for.
  const char* blocks;
};
// First with ptxas's other limits for the use of registers, then with room for two blocks or for one.
inline constexpr SpillAttempt kSpillAttempts[] = {{"--ptxas-options=--register-usage-level=0", ""},
                                                  {"--ptxas-options=--register-usage-level=10", ""},
                                                  {"", ", 2"},
                                                  {"", ", 1"}};

// Makes a compiler for compute capability `arch` (90 is sm_90), which compiles at most `jobs` programs at once. Entries
// of `cache_dir` (empty: no cache) are found by text, options, attempts, architecture and NVRTC's version; if all are
// there, nothing is compiled.
std::unique_ptr<Compiler> make_nvrtc_compiler(Nvrtc nvrtc, int arch, std::filesystem::path cache_dir, int jobs,
                                              std::span<const SpillAttempt> attempts = kSpillAttempts);

}  // namespace kb::cuda
