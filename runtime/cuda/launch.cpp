#include "runtime/cuda/launch.h"

#include <limits>

#include "graph/error.h"

namespace kb::cuda {

Launch::Launch(const Driver& driver, const ir::Kernel& ir, Kernel kernel, int64_t tiles, std::vector<int64_t> arguments)
    : kernel_(kernel),
      blocks_(static_cast<unsigned>(tiles)),
      threads_(static_cast<unsigned>(ir.block_threads)),
      storage_(static_cast<unsigned>(ir::launched_storage_bytes(ir))),
      buffers_(ir.buffers.size()),
      arguments_(std::move(arguments)) {
  ensure(ir.phases.size() == 1, "a kernel for a GPU has one phase");
  ensure(ir.block_threads > 0, "a kernel for a GPU has threads");
  ensure(static_cast<size_t>(ir.arguments) == arguments_.size(), "a launch has other arguments than its kernel");
  ensure(tiles <= std::numeric_limits<int32_t>::max(), "a launch has more blocks than a grid");
  if (storage_ > 0) {
    driver(driver.function_attribute, kernel, KernelAttribute::most_dynamic_shared_bytes, static_cast<int>(storage_));
    driver(driver.function_attribute, kernel, KernelAttribute::shared_percent, 100);  // room for all resident blocks
  }
  parameters_.resize(buffers_ + arguments_.size() + 1);
}

void Launch::enqueue(const Driver& driver, Stream stream, std::span<void*> operands) {
  ensure(operands.size() == buffers_, "a launch has other operands than its kernel");
  if (blocks_ == 0) return;
  for (size_t i = 0; i < buffers_; ++i) parameters_[i] = &operands[i];
  for (size_t i = 0; i < arguments_.size(); ++i) parameters_[buffers_ + i] = &arguments_[i];
  driver(driver.launch, kernel_, blocks_, 1u, 1u, threads_, 1u, 1u, storage_, stream, parameters_.data(),
         static_cast<void**>(nullptr));
}

}  // namespace kb::cuda
