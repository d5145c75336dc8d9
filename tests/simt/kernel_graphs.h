// Graphs that are compiled for a GPU. Their kernels run one by one, emulated or on a device, and the results are
// compared with the graph interpreter's and with those of a CPU's kernels. The latter run in the KernelIR interpreter,
// which has the bits that a CPU's compiled kernels have (tests/compiler/print/cpp_test.cpp).
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "tests/simt/gpu_kernels.h"
#include "tests/support/compile_check.h"

namespace kb::test {

// Returns options for a GPU's target.
CheckOptions on_gpu(double tolerance = 2e-5);

class KernelGraphs {
 public:
  explicit KernelGraphs(GpuKernels& kernels, Target target = gpu_target("sm_90"))
      : kernels_(kernels), target_(std::move(target)) {}

  // Adds a graph. If there is an output X.abs, the sum of the absolute values of the terms of output X, then X may err
  // by 1e-5 of that in f32; other outputs may err by options.tolerance.
  void add(const std::string& name, const Graph& graph, const CheckOptions& options = on_gpu());
  // Adds a point-wise graph, for which the CPU's kernels give the same bits.
  void add_exact(const std::string& name, const Graph& graph, const CheckOptions& options = on_gpu());
  // Adds a graph whose results from the CPU's kernels are checked too.
  void add_beside_cpu(const std::string& name, const Graph& graph, const CheckOptions& options = on_gpu());
  // Convolutions of graphs added from now on are products of matrices in kernels of our own, where they can be.
  void use_products() { target_.products = Products::all; }
  // Warps multiply in these, in the stages of an sm_80.
  void use_products_by_warps() {
    use_products();
    target_.warpgroups = false;
    target_.product_stages = gpu_target("sm_80").product_stages;
  }
  // Compiles all kernels at once and runs all graphs.
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
  void judge(const Case& c);

  std::vector<Case> cases_;
  GpuKernels& kernels_;
  Target target_;
};

}  // namespace kb::test
