#include "tests/gpu/checks/checks.h"
#include "tests/gpu/checks/device_kernels.h"
#include "tests/simt/class_graphs.h"

namespace kb::test {
namespace {

void check_class(TestGpu& gpu, const KernelClass& cls) {
  DeviceKernels kernels(gpu);
  KernelGraphs graphs(kernels, kernels.target());
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
