// A planned call of a library for convolution, matmul or the packing of weights.
#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "runtime/cpu/pool.h"

namespace kb {

class LibraryOp {
 public:
  virtual ~LibraryOp() = default;
  // Bytes that `run` needs at `scratch`, which must be aligned to 64 bytes as all operands should be. The same for
  // specs that differ in bias and relu alone.
  virtual size_t scratch_bytes() const = 0;
  // One run of an op at a time.
  virtual void run(Pool& pool, std::span<const void* const> in, std::span<void* const> out, void* scratch) const = 0;
  // The implementation that does the work, for reports: "jit:avx512_core", "eigen".
  virtual std::string implementation() const = 0;
};

}  // namespace kb
