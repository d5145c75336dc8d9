// Compiles the kernels of a program for a GPU that need not be present, and tells which resources each takes there.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/schedule.h"
#include "compiler/schedule/describe_steps.h"
#include "recipes/inspect/step_model.h"
#include "runtime/cuda/cubin.h"
#include "runtime/kernel_batch.h"

namespace kb {

struct DeviceKernel {
  cuda::KernelResources resources;
  std::string kind;      // "pointwise"
  StepDescription step;  // the first step that launches it
  int64_t launches = 0;  // number of launches in a step
  int64_t block_threads = 0;
};

struct DeviceKernels {
  std::string compiler;               // "NVRTC 13.0, sm_90"; empty if there is none here
  std::string missing;                // reason why there is no compiler
  std::vector<DeviceKernel> kernels;  // distinct ones, in the order of their first launch
  KernelCost cost;
  std::vector<std::string> warnings;
  KernelWork work;  // main loops of the kernels if their machine code was asked for

  int64_t registers_max() const;
  int64_t spill_bytes() const;  // bytes of local memory per thread, summed over all kernels
};

// Compiles the program's kernels for `arch` ("sm_90"), `jobs` compilations at once, with the cache of kernels at
// `cache_dir`. `cuobjdump`: path of the program that disassembles them, also `jobs` at once; if it cannot be run the
// result has a warning. If it is empty, the machine code is not read.
DeviceKernels compile_device_kernels(const Program& program, const std::string& arch, const std::string& cache_dir,
                                     int jobs, const std::string& cuobjdump = "");

// Returns a table with one line per kernel.
std::string to_text(const DeviceKernels& kernels);

}  // namespace kb
