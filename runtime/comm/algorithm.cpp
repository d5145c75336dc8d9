#include "runtime/comm/algorithm.h"

#include <array>
#include <cstddef>

namespace kb {

std::string_view name(Algorithm algorithm) {
  constexpr std::array<std::string_view, 5> kNames{"halving-doubling", "ring", "mpi", "mpi-blocking", "nccl"};
  return kNames[static_cast<size_t>(algorithm)];
}

}  // namespace kb
