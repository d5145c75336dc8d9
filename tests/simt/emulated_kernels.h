// Kernels printed as CUDA C++, all of them compiled together, and run by the emulator where the KernelIR interpreter
// would run them.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/simt/gpu_kernels.h"
#include "tests/simt/simt.h"

namespace kb::simt {

class EmulatedKernels : public test::GpuKernels {
 public:
  explicit EmulatedKernels(Instrument instrument = default_instrument()) : instrument_(instrument) {}
  using GpuKernels::add;
  void add(const ir::Kernel& kernel) override;
  // In place of what is printed for it.
  void add(const ir::Kernel& kernel, const std::string& text);
  void compile() override;
  size_t count() const { return texts_.size(); }

  // Every buffer is copied to memory of its own that ends where the buffer does. The two runs are with blocks and
  // threads in two orders. Throws Fault.
  void run(const ir::Kernel& kernel, std::span<const int64_t> arguments, std::span<const int64_t> tiles,
           std::span<const ir::Memory> buffers) override;

  int64_t launches() const { return launches_; }
  int64_t accesses() const { return accesses_; }
  int64_t widest_block() const { return widest_block_; }  // threads

 private:
  Instrument instrument_;
  std::map<std::string, std::string> texts_;  // by name
  std::unique_ptr<Program> program_;
  int64_t launches_ = 0, accesses_ = 0, widest_block_ = 0;
};

}  // namespace kb::simt
