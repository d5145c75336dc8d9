#include "runtime/comm/cost.h"

#include <algorithm>
#include <bit>

namespace kb {

double halving_doubling_bytes(int64_t bytes, int ranks) {
  double most = 0;
  for (auto left = static_cast<unsigned>(ranks); left > 0; left &= left - 1) {
    // The blocks of `ranks` from the smallest up: the bits that are set.
    const unsigned block = left & -left;
    const bool has_smaller = left != static_cast<unsigned>(ranks), has_larger = left != block;
    const double pieces = 2.0 * (block - 1) + (has_smaller ? 1 : 0) + (has_larger ? 1 : 0);
    most = std::max(most, pieces / block);
  }
  return most * static_cast<double>(bytes);
}

double halving_doubling_seconds(int64_t bytes, int ranks, const Network& network) {
  if (ranks == 1) return 0;
  const int steps = 2 * (std::bit_width(static_cast<unsigned>(ranks)) - 1);
  return steps * network.latency + halving_doubling_bytes(bytes, ranks) / network.bandwidth;
}

}  // namespace kb
