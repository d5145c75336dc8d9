// Texts of CUDA C++ in, images for a device out. Implemented over NVRTC in the plug-in (with the disk cache), and in
// tests by the emulation of tests/simt.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/kernel_cache.h"

namespace kb::cuda {

// An image as cuModuleLoadData takes it, with the names of the kernels in it.
struct Image {
  std::string data;                // cubin, or PTX with its final zero
  std::vector<std::string> names;  // extern "C" entries
};

struct CompiledImages {
  std::vector<Image> images;             // together they hold every kernel of the batch, each at least once
  int64_t cache_hits = 0, compiled = 0;  // distinct kernels
  double jit_ms = 0;
  std::vector<std::string> warnings;  // one line each: the architecture was clamped, an entry was damaged
};

class Compiler {
 public:
  virtual ~Compiler() = default;
  virtual std::string name() const = 0;  // "NVRTC 13.0, sm_90"
  // InternalError, with the compiler's log, where it refuses a kernel's text.
  virtual CompiledImages compile(const KernelBatch& batch) = 0;
};

}  // namespace kb::cuda
