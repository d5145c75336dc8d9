// The sums of resampling (data/images/resample.h): bytes times weights of 2^-22, rounded to bytes. They sum integers,
// so that the bits are the same on every processor.
#pragma once

#include <cstdint>

#include "data/images/resample.h"

namespace kb {

inline constexpr int kWeightBits = 22;     ///< weights are multiples of 2^-kWeightBits
inline constexpr int64_t kLineBlock = 32;  ///< a line is a multiple of so many bytes

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
