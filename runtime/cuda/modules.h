// Compiled kernels, loaded on a device.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "runtime/backend.h"
#include "runtime/cuda/compiler.h"
#include "runtime/cuda/device.h"

namespace kb::cuda {

class Modules {
 public:
  // Compiles the batch and loads its images. Warnings of the compiler go to standard error.
  Modules(const OpenDevice& device, Compiler& compiler, const KernelBatch& batch, LoadReport& report);
  ~Modules();
  Modules(const Modules&) = delete;
  Modules& operator=(const Modules&) = delete;

  // Throws InternalError when the batch had no kernel of this name.
  Kernel kernel(const std::string& name) const;

 private:
  void load(const Image& image);

  const OpenDevice& device_;
  std::vector<Module> modules_;
  std::map<std::string, Kernel> kernels_;
};

}  // namespace kb::cuda
