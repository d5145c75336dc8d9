// One launch of a generated kernel. Its grid and arguments are fixed; each launch gets its operands.
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
  Launch(const Driver& driver, const ir::Kernel& ir, Kernel kernel, int64_t tiles, std::vector<int64_t> arguments);
  bool is_set() const { return kernel_ != nullptr; }
  // Enqueues the kernel with one operand for each of its buffers. Allocates nothing.
  void enqueue(const Driver& driver, Stream stream, std::span<void*> operands);

 private:
  Kernel kernel_ = nullptr;
  unsigned blocks_ = 0, threads_ = 0, storage_ = 0;  // storage_: bytes of block storage that it asks for
  size_t buffers_ = 0;
  std::vector<int64_t> arguments_;
  std::vector<void*> parameters_;  // addresses of the operands and arguments, then a null pointer
};

}  // namespace kb::cuda
