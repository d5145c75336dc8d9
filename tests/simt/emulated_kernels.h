// Kernels printed as CUDA C++, all of them compiled together, and run by the emulator where the KernelIR interpreter
// would run them.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/schedule_interpreter.h"
#include "tests/simt/simt.h"

namespace kb::simt {

class EmulatedKernels {
 public:
  explicit EmulatedKernels(Instrument instrument = default_instrument()) : instrument_(instrument) {}
  // Equal kernels once.
  void add(const Schedule& schedule);
  void add(const ir::Kernel& kernel);
  // In place of what is printed for it.
  void add(const ir::Kernel& kernel, const std::string& text);
  void compile();
  size_t count() const { return texts_.size(); }

  // As ir::run. Every buffer is copied to memory of its own that ends where the buffer does. Runs the kernel twice,
  // with blocks and threads in two orders; InternalError where a bit of the results differs. Throws Fault.
  void run(const ir::Kernel& kernel, std::span<const int64_t> arguments, std::span<const int64_t> tiles,
           std::span<const ir::Memory> buffers);
  KernelRunner runner();

  int64_t launches() const { return launches_; }
  int64_t accesses() const { return accesses_; }

 private:
  Instrument instrument_;
  std::map<std::string, std::string> texts_;  // by name
  std::unique_ptr<Program> program_;
  int64_t launches_ = 0, accesses_ = 0;
};

}  // namespace kb::simt
