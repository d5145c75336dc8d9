// Checks that a GPU must pass, as tables of functions: run on a real one by tests/gpu, and on the fake one by
// tests/runtime/cuda, so that no check is seen for the first time where there is a GPU.
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
  int64_t DriverCalls::*proof;  // what was called if the device had a part in it
  bool beside_cpu = false;      // runs the CPU's backend too, which takes a compiler
};
inline std::ostream& operator<<(std::ostream& stream, const GpuCheck& check) { return stream << check.name; }

// Generated kernels of every fusion class, each launch on its own, against the interpreters of graphs and KernelIR.
std::vector<GpuCheck> kernel_checks();
// Convolutions, their gradients and matrix products, against the graph interpreter.
std::vector<GpuCheck> library_checks();
// Steps of a small net beside the CPU's: captured, not captured, with state and inputs that stay.
std::vector<GpuCheck> session_checks();
// Recipes beside the CPU: the loop, the loader, evaluations, metrics, checkpoints.
std::vector<GpuCheck> recipe_checks();
// Sums over NCCL: of one rank, and of as many as there are devices.
std::vector<GpuCheck> collective_checks();

// Runs it, and fails the running test where the device had no part in it.
void run_check(const GpuCheck& check, TestGpu& gpu);

}  // namespace kb::test
