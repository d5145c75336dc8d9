// One launch of a generated kernel: its grid and numbers, its operands given each time.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "compiler/kernel_ir.h"
#include "runtime/cuda/driver.h"

namespace kb::cuda {

class Launch {
 public:
  Launch() = default;
  Launch(const ir::Kernel& ir, Kernel kernel, int64_t tiles, std::vector<int64_t> arguments);
  bool is_set() const { return kernel_ != nullptr; }
  // One operand a buffer of the kernel. Allocates nothing.
  void enqueue(const Driver& driver, Stream stream, std::span<void*> operands);

 private:
  Kernel kernel_ = nullptr;
  unsigned blocks_ = 0, threads_ = 0;
  size_t buffers_ = 0;
  std::vector<int64_t> arguments_;
  std::vector<void*> parameters_;  // the place of each operand, of each argument; a null pointer behind them
};

}  // namespace kb::cuda
