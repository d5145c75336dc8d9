// Graphs whose kernels run in the emulator; the CPU's kernels run as the host's compiler compiled them.
#pragma once
#include "tests/simt/emulated_kernels.h"
#include "tests/simt/kernel_graphs.h"

namespace kb::simt {

class EmulatedGraphs : public test::KernelGraphs {
 public:
  explicit EmulatedGraphs(Target target = gpu_target("sm_90"));
  const EmulatedKernels& kernels() const { return emulated_; }

 private:
  EmulatedKernels emulated_;
};

}  // namespace kb::simt
