#include "runtime/comm/measure_network.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "runtime/comm/cost.h"
#include "runtime/median.h"

namespace kb {
namespace {

// Returns the least time over the ranks. The rank that left the barrier last waited for nobody, and so measured the
// reduction alone.
double shortest(Communicator& communicator, double own) {
  double all = own;
  for (const std::string& bytes : communicator.all_gather({reinterpret_cast<const char*>(&own), sizeof own})) {
    double one = 0;
    std::memcpy(&one, bytes.data(), sizeof one);
    all = std::min(all, one);
  }
  return all;
}

double reduce_once(Communicator& communicator, std::vector<float>& data) {
  communicator.barrier();
  const auto elements = static_cast<int64_t>(data.size());
  const Interval interval =
      communicator.wait(communicator.all_reduce(reinterpret_cast<std::byte*>(data.data()), elements, DType::f32));
  return shortest(communicator, std::chrono::duration<double>(interval.end - interval.begin).count());
}

// Returns the median time of an all-reduce, after a first one that touches the memory.
double median(Communicator& communicator, int64_t elements, int rounds) {
  std::vector<float> data(static_cast<size_t>(elements));
  std::vector<double> seconds(static_cast<size_t>(rounds));
  reduce_once(communicator, data);
  for (double& one : seconds) one = reduce_once(communicator, data);
  return median_of(std::move(seconds));
}

}  // namespace

Network measure_network(Communicator& communicator, int64_t bytes, int rounds) {
  if (communicator.size() == 1) return {0, std::numeric_limits<double>::infinity()};
  communicator.choose(Algorithm::halving_doubling);
  // With this number of elements, the shortest array, every message has some bytes.
  const int ranks = communicator.size();
  const int64_t elements = std::max<int64_t>(bytes / 4, ranks);
  const double brief = median(communicator, ranks, rounds), lengthy = median(communicator, elements, rounds);
  const int steps = 2 * (std::bit_width(static_cast<unsigned>(ranks)) - 1);
  const double bytes_carried = halving_doubling_seconds(4 * elements, ranks, {.latency = 0, .bandwidth = 1});
  return {brief / steps, bytes_carried / std::max(lengthy - brief, 1e-9)};
}

}  // namespace kb
