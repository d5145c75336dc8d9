#include "runtime/comm/algorithm.h"

#include "graph/enum_table.h"

namespace kb {

std::string_view name(Algorithm algorithm) {
  constexpr EnumNames<Algorithm> kNames({"halving-doubling", "ring", "mpi", "mpi-blocking", "nccl"});
  return kNames[algorithm];
}

}  // namespace kb
