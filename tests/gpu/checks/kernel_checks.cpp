#include "tests/gpu/checks/checks.h"
#include "tests/gpu/checks/device_kernels.h"
#include "tests/simt/class_graphs.h"

namespace kb::test {
namespace {

// Runs kernels in the KernelIR interpreter, which has the bits of the CPU's kernels and needs no compiler.
KernelRunner interpreted(const std::vector<ir::Kernel>&) { return ir::run; }

void check_class(TestGpu& gpu, const KernelClass& cls) {
  DeviceKernels kernels(gpu);
  KernelGraphs graphs(kernels, interpreted, kernels.target());
  cls.add(graphs);
  graphs.check();
}

}  // namespace

std::vector<GpuCheck> kernel_checks() {
  std::vector<GpuCheck> checks;
  for (const KernelClass& cls : kernel_classes())
    checks.push_back({cls.name, [cls](TestGpu& gpu) { check_class(gpu, cls); }, &DriverCalls::launches});
  return checks;
}

}  // namespace kb::test
