#include "runtime/comm/measure_network.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace kb {
namespace {

struct Sample {
  double seconds = 0;
  int64_t bytes_sent = 0;
};

// The rank that came last out of the barrier waited for nobody: the shortest time is the reduction's. Bytes are those
// of the rank that sends most.
Sample over_ranks(Communicator& communicator, const Sample& own) {
  Sample all = own;
  for (const std::string& bytes : communicator.all_gather({reinterpret_cast<const char*>(&own), sizeof own})) {
    Sample one;
    std::memcpy(&one, bytes.data(), sizeof one);
    all.seconds = std::min(all.seconds, one.seconds);
    all.bytes_sent = std::max(all.bytes_sent, one.bytes_sent);
  }
  return all;
}

Sample reduce_once(Communicator& communicator, std::vector<float>& data) {
  communicator.barrier();
  const int64_t before = communicator.traffic().bytes_sent;
  const auto elements = static_cast<int64_t>(data.size());
  const Interval interval =
      communicator.wait(communicator.all_reduce(reinterpret_cast<std::byte*>(data.data()), elements, DType::f32));
  return over_ranks(communicator, {std::chrono::duration<double>(interval.end - interval.begin).count(),
                                   communicator.traffic().bytes_sent - before});
}

// After a first reduction, which touches the memory.
Sample median(Communicator& communicator, int64_t elements, int rounds) {
  std::vector<float> data(static_cast<size_t>(elements));
  std::vector<Sample> samples(static_cast<size_t>(rounds));
  reduce_once(communicator, data);
  for (Sample& sample : samples) sample = reduce_once(communicator, data);
  const auto middle = samples.begin() + samples.size() / 2;
  std::nth_element(samples.begin(), middle, samples.end(),
                   [](const Sample& a, const Sample& b) { return a.seconds < b.seconds; });
  return *middle;
}

}  // namespace

Network measure_network(Communicator& communicator, int64_t bytes, int rounds) {
  if (communicator.size() == 1) return {0, std::numeric_limits<double>::infinity()};
  communicator.choose(Algorithm::halving_doubling);
  // The shortest array of which every message has bytes.
  const Sample brief = median(communicator, communicator.size(), rounds);
  const Sample lengthy = median(communicator, std::max<int64_t>(bytes / 4, communicator.size()), rounds);
  const double bytes_seconds = std::max(lengthy.seconds - brief.seconds, 1e-9);
  const int steps = 2 * (std::bit_width(static_cast<unsigned>(communicator.size())) - 1);
  return {brief.seconds / steps, static_cast<double>(lengthy.bytes_sent) / bytes_seconds};
}

}  // namespace kb
