// Printed kernels that are compiled together.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace kb {

// One kernel. `text` defines extern "C" void NAME(...), and needs nothing but the batch's prelude.
struct KernelSource {
  std::string name;
  std::string text;
};

struct KernelBatch {
  std::string prelude;  // types and helpers, once in each translation unit; its functions are static inline
  std::vector<KernelSource> kernels;
  std::string options_salt;  // version of the code generator, and whatever else must keep kernels apart in the cache
};

// The cost of making the functions of one or several batches.
struct KernelCost {
  int64_t cache_hits = 0, compiled = 0;  // numbers of distinct kernels: found on disk, and compiled
  double jit_milliseconds = 0;           // time for kernels: cache look-up, compiler, loading

  KernelCost& operator+=(const KernelCost& other) {
    cache_hits += other.cache_hits;
    compiled += other.compiled;
    jit_milliseconds += other.jit_milliseconds;
    return *this;
  }
};

}  // namespace kb
