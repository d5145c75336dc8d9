// The sums of resampling (data/images/resample.h): bytes times weights of 2^-22, rounded to bytes. They sum integers,
// so that the bits are the same on every processor.
#pragma once

#include <cstdint>
#include <vector>

namespace kb {

inline constexpr int kWeightBits = 22;     ///< weights are multiples of 2^-kWeightBits
inline constexpr int64_t kLineBlock = 32;  ///< a line is a multiple of so many bytes

/// The weights of one axis. Wanted pixel i is the sum over t < taps of weight[i taps + t] times the pixel start[i] + t
/// of those that are read, divided by 2^22. The number of taps is even, so the last one may be a pixel too many, with
/// weight 0.
struct AxisWeights {
  int64_t first_in = 0, count_in = 0;  ///< first pixel of the image that is read, and number of them
  int64_t taps = 0;
  std::vector<int32_t> start;   ///< one a wanted pixel
  std::vector<int32_t> weight;  ///< one a wanted pixel and tap
};

struct WeightedSums {
  /// Writes the wanted pixels of `axis` to `out`, 4 bytes each, from the pixels of `from`, of which there are at least
  /// axis.taps.
  void (*columns)(const uint8_t* from, const AxisWeights& axis, uint8_t* out);
  /// Writes `bytes` bytes to `out`, a multiple of kLineBlock, each a weighted sum over `taps` lines, which follow each
  /// other, of the bytes at its place.
  void (*lines)(const uint8_t* lines, const int32_t* weight, int64_t taps, int64_t bytes, uint8_t* out);
};

/// Returns the fastest loops of this processor.
WeightedSums weighted_sums();
/// Returns the loops of a processor without AVX2.
WeightedSums plain_weighted_sums();

}  // namespace kb
