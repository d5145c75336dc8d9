// The kernels of a program compiled for a GPU that need not be there: what each takes of a multiprocessor.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/schedule.h"
#include "compiler/schedule/describe_steps.h"
#include "recipes/inspect/step_model.h"
#include "runtime/cuda/cubin.h"

namespace kb {

struct DeviceKernel {
  cuda::KernelResources resources;
  std::string kind;      // "pointwise"
  StepDescription step;  // the first step that launches it
  int64_t launches = 0;  // in a step
  int64_t block_threads = 0;
};

struct DeviceKernels {
  std::string compiler;               // "NVRTC 13.0, sm_90"; empty: none here
  std::string missing;                // why there is none
  std::vector<DeviceKernel> kernels;  // distinct ones, in the order of their first launch
  int64_t compiled = 0, cache_hits = 0;
  double nvrtc_ms = 0;
  std::vector<std::string> warnings;
  KernelWork work;  // of kernels whose machine code was asked for

  int64_t registers_max() const;
  int64_t spill_bytes() const;  // local memory of a thread, over all kernels
};

// `arch`: "sm_90". Compiles `jobs` programs at once, into and from the cache of kernels at `cache_dir`. `cuobjdump`:
// path of the program that disassembles them, so many at once, and whose absence is a warning; empty: their machine
// code is not wanted.
DeviceKernels compile_device_kernels(const Program& program, const std::string& arch, const std::string& cache_dir,
                                     int jobs, const std::string& cuobjdump = "");

// A table, a line a kernel.
std::string to_text(const DeviceKernels& kernels);

}  // namespace kb
