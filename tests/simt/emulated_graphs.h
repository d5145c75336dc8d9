// Graphs whose kernels run in the emulator.
#pragma once
#include "tests/simt/emulated_kernels.h"
#include "tests/simt/kernel_graphs.h"

namespace kb::simt {

class EmulatedGraphs : public test::KernelGraphs {
 public:
  explicit EmulatedGraphs(Target target = gpu_target("sm_90")) : KernelGraphs(emulated_, std::move(target)) {}
  const EmulatedKernels& kernels() const { return emulated_; }

 private:
  EmulatedKernels emulated_;
};

}  // namespace kb::simt
