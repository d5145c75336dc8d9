// Printed kernels that are compiled together.
#pragma once
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

}  // namespace kb
