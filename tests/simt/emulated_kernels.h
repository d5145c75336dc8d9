// Kernels that are printed as CUDA C++, compiled together, and run by the emulator in place of the KernelIR
// interpreter.
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
  // Adds a kernel with `text` in place of its printed text.
  void add(const ir::Kernel& kernel, const std::string& text);
  void compile() override;
  size_t count() const { return texts_.size(); }
  // Returns the number of kernels in whose text `word` stands.
  int64_t count(const std::string& word) const;

  // Runs a kernel twice, with blocks and threads in two orders. Every buffer is copied to memory of its own that ends
  // where the buffer does. Throws Fault.
  void run(const ir::Kernel& kernel, std::span<const int64_t> arguments, std::span<const int64_t> tiles,
           std::span<const ir::Memory> buffers) override;

  int64_t launches() const { return launches_; }
  int64_t accesses() const { return accesses_; }
  int64_t widest_block() const { return widest_block_; }  // greatest number of threads in a block

 private:
  Instrument instrument_;
  std::map<std::string, std::string> texts_;  // keyed by the kernel's name
  std::unique_ptr<Program> program_;
  int64_t launches_ = 0, accesses_ = 0, widest_block_ = 0;
};

}  // namespace kb::simt
