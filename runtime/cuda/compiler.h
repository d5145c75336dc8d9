// Compiles texts of CUDA C++ to images for a device. The plug-in does it by NVRTC, with the disk cache; tests do it by
// the emulation of tests/simt.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/kernel_cache.h"

namespace kb::cuda {

// An image as cuModuleLoadData takes it, with the names of the kernels in it.
struct Image {
  std::string data;                // cubin, or PTX with its final zero
  std::vector<std::string> names;  // names of its extern "C" entries
};

struct CompiledImages : KernelCost {
  std::vector<Image> images;          // together they have every kernel of the batch at least once
  std::vector<std::string> warnings;  // one line each, as "the architecture was clamped"
};

class Compiler {
 public:
  virtual ~Compiler() = default;
  virtual std::string name() const = 0;  // a text: "NVRTC 13.0, sm_90"
  // Throws InternalError, with the compiler's log, when it refuses a kernel's text.
  virtual CompiledImages compile(const KernelBatch& batch) = 0;
};

}  // namespace kb::cuda
