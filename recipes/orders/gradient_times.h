// The time that a worker computes a gradient (--times). It is a function of the seed, the worker and the number of the
// worker's gradient alone, found in O(1): an order of gradients can be made from any place without saved random
// numbers. Times are whole nanoseconds of a virtual clock, so that sums of them are exact.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace kb {

inline constexpr int64_t kMostMessageNs = int64_t{1} << 60;  // 36 years
inline constexpr double kLeastMean = 1e-9, kMostMean = 1e6;  // bounds of the mean seconds that a file may say

struct GradientTimes {
  // Times of the first three kinds have the mean 1 s. file: each gradient of a worker takes what a file says of that
  // worker. clock: times that were measured as the order was made; no order can be made from them again.
  enum class Kind : uint8_t { constant, exponential, lognormal, file, clock };

  Kind kind = Kind::constant;
  double spread = 0;                 // lognormal: standard deviation of the logarithm of a time
  std::string path = "";             // file: its path
  std::vector<double> means_s = {};  // file: seconds of a gradient, for each worker; empty until it is read

  int64_t message_ns = 0;  // time of a gradient's messages, in ns, which is added to that of its computation

  // Returns the time in ns, within [1, 1e18] without its messages, of gradient `number` (from 0) of a worker.
  int64_t ns(uint64_t seed, int64_t worker, int64_t number) const;
  bool operator==(const GradientTimes&) const = default;
};

// Reads "constant", "exponential", "lognormal:S", or the path of a file, which has a '/' or a '.' in it. Does not open
// the file. Throws UsageError for other texts.
GradientTimes parse_times(const std::string& flag, const std::string& text);
// Returns the text that parse_times() reads; "clock" for measured times.
std::string times_text(const GradientTimes& times);

// Returns the times with what their file says, and times without a file as they are. A file is a text with one number a
// line, for worker 0 first: seconds of a gradient. Empty lines and lines that begin with '#' do not count. It may also
// be metrics.jsonl of a run of so many processes, whose last line of kind ranks has the times. Throws Error unless
// there is a number in [1e-9, 1e6] for each of `workers` workers.
GradientTimes read_times(GradientTimes times, int64_t workers);

}  // namespace kb
