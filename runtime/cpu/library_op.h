// A planned library call: convolution, matmul or the packing of weights.
#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "runtime/cpu/pool.h"

namespace kb {

class LibraryOp {
 public:
  virtual ~LibraryOp() = default;
  // Returns the bytes that run() needs at `scratch`. That must be aligned to 64 bytes, and all operands should be.
  // Specs that differ in bias and relu alone need the same.
  virtual size_t scratch_bytes() const = 0;
  // Computes; an op runs once at a time.
  virtual void run(Pool& pool, std::span<const void* const> in, std::span<void* const> out, void* scratch) const = 0;
  // Returns the implementation that does the work, for reports: "jit:avx512_core" or "eigen".
  virtual std::string implementation() const = 0;
};

}  // namespace kb
