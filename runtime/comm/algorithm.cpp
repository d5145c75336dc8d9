#include "runtime/comm/algorithm.h"

#include <fmt/format.h>

#include <array>

#include "graph/error.h"

namespace kb {
namespace {

constexpr std::array<std::string_view, 5> kNames{"halving-doubling", "ring", "mpi", "mpi-blocking", "nccl"};

}  // namespace

std::string_view name(Algorithm algorithm) { return kNames[static_cast<size_t>(algorithm)]; }

Algorithm parse_algorithm(std::string_view text) {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == text) return static_cast<Algorithm>(i);
  throw Error(fmt::format("unknown all-reduce \"{}\"; known: {}", text, fmt::join(kNames, ", ")));
}

}  // namespace kb
