// Graphs compiled for a GPU, their kernels printed as CUDA C++ and emulated, judged by the graph interpreter and by the
// CPU's kernels.
#pragma once
#include <string>
#include <vector>

#include "tests/compile_check.h"
#include "tests/simt/emulated_kernels.h"

namespace kb::simt {

test::CheckOptions on_gpu(double tolerance = 2e-5);

class EmulatedGraphs {
 public:
  // An output X beside which there is an output X.abs, the sum of the absolute values of its terms, may be off by 1e-5
  // of that in f32; others by options.tolerance.
  void add(const std::string& name, const Graph& graph, const test::CheckOptions& options = on_gpu());
  // Point-wise: the CPU's kernels give the same bits.
  void add_exact(const std::string& name, const Graph& graph, const test::CheckOptions& options = on_gpu());
  // Compiles all kernels at once, runs all graphs.
  void check();

  const EmulatedKernels& kernels() const { return kernels_; }

 private:
  struct Case {
    std::string name;
    Graph graph;
    test::CheckOptions options;
    test::Judged judged;
    bool exact = false;
    test::Judged on_cpu{};
  };
  void judge(const Case& c);
  void compare_with_cpu(const Case& c, const std::map<std::string, Array>& outputs, const StoreBytes& store);

  std::vector<Case> cases_;
  EmulatedKernels kernels_;
  KernelRunner cpu_kernels_;
};

}  // namespace kb::simt
