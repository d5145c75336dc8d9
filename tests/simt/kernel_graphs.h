// Graphs compiled for a GPU, their kernels run one by one - emulated or on a device -, judged by the graph interpreter
// and by a CPU's kernels.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/compile_check.h"
#include "tests/simt/gpu_kernels.h"

namespace kb::test {

// The target is that of the graphs.
CheckOptions on_gpu(double tolerance = 2e-5);

// Given all of a CPU's kernels, makes the function that runs them.
using CpuKernels = std::function<KernelRunner(const std::vector<ir::Kernel>&)>;

class KernelGraphs {
 public:
  KernelGraphs(GpuKernels& kernels, CpuKernels cpu, Target target = gpu_target("sm_90"))
      : kernels_(kernels), cpu_(std::move(cpu)), target_(std::move(target)) {}

  // An output X beside which there is an output X.abs, the sum of the absolute values of its terms, may be off by 1e-5
  // of that in f32; others by options.tolerance.
  void add(const std::string& name, const Graph& graph, const CheckOptions& options = on_gpu());
  // Point-wise: the CPU's kernels give the same bits.
  void add_exact(const std::string& name, const Graph& graph, const CheckOptions& options = on_gpu());
  // The CPU's kernels are judged as well.
  void add_beside_cpu(const std::string& name, const Graph& graph, const CheckOptions& options = on_gpu());
  // Compiles all kernels at once, runs all graphs.
  void check();

 private:
  struct Case {
    std::string name;
    Graph graph;
    CheckOptions options;
    Judged judged;
    bool exact = false;
    std::optional<Judged> on_cpu{};
  };
  KernelRunner make_cpu_kernels() const;
  void judge(const Case& c);

  std::vector<Case> cases_;
  GpuKernels& kernels_;
  const CpuKernels cpu_;
  const Target target_;
  KernelRunner cpu_kernels_;
};

}  // namespace kb::test
