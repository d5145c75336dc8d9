// Checks that a GPU must pass, as tables of functions. tests/gpu runs them on a real one and tests/runtime/cuda on the
// fake one, so that no check is new when there is a GPU.
#pragma once
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "tests/gpu/checks/test_gpu.h"

namespace kb::test {

struct GpuCheck {
  std::string name;
  std::function<void(TestGpu& gpu)> run;
  int64_t DriverCalls::*proof;  // the call that is counted if the device took part
  bool beside_cpu = false;      // runs the CPU's backend too, which needs a compiler
};
inline std::ostream& operator<<(std::ostream& stream, const GpuCheck& check) { return stream << check.name; }

// Generated kernels of every fusion class; each launch alone is compared with the interpreters of graphs and KernelIR.
std::vector<GpuCheck> kernel_checks();
// Convolutions, attention, their gradients and matrix products, compared with the graph interpreter.
std::vector<GpuCheck> library_checks();
// Steps of a small net, compared with the CPU's: captured and not captured, with state and inputs that stay;
// and products of matrices, whose pick by measuring stays.
std::vector<GpuCheck> session_checks();
// Recipes, compared with the CPU's: the loop, the loader, evaluations, metrics, checkpoints.
std::vector<GpuCheck> recipe_checks();
// Sums over NCCL, with one rank and with as many as there are devices.
std::vector<GpuCheck> collective_checks();

// Runs a check, and fails the running test when the device took no part in it.
void run_check(const GpuCheck& check, TestGpu& gpu);

}  // namespace kb::test
