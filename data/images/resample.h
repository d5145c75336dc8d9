// Resampling of images, bilinear with antialiasing: a pixel of the result is the mean of the pixels under a triangle
// whose half width is one pixel of the larger of both grids. First along the rows, then along the columns, each rounded
// to bytes, with weights in multiples of 2^-22: the arithmetic of Pillow's Image.resize(BILINEAR). Its bits are those
// of Pillow up to 12; 13 begins along the columns where the height shrinks much more, and may differ by one grey level.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/bytes.h"

namespace kb {

/// An axis of `in` pixels on which `out` are made; of these the `count` from `first` on are wanted.
struct ResampledAxis {
  int64_t in = 1, out = 1, first = 0, count = 1;
};

/// Weights of one axis. Wanted pixel i is the sum over t < taps of weight[i taps + t] times pixel start[i] + t of those
/// read, over 2^22. Taps are even in number: where an odd number of pixels is read, the last may lie one behind them,
/// with weight 0.
struct AxisWeights {
  int64_t first_in = 0, count_in = 0;  ///< pixels of the image that are read
  int64_t taps = 0;
  std::vector<int32_t> start;   ///< a wanted pixel
  std::vector<int32_t> weight;  ///< a wanted pixel and tap
};

/// Throws std::logic_error where an extent is below 1 or the wanted pixels are not among those made.
void set_weights(AxisWeights& weights, const ResampledAxis& axis);

/// Resamples one image after another, in memory that it keeps.
class Resampler {
 public:
  /// Begins an image.
  void begin(const ResampledAxis& columns, const ResampledAxis& rows);
  /// Columns and rows of the image that are read: those that add_row is to be given.
  const AxisWeights& columns() const { return columns_; }
  const AxisWeights& rows() const { return rows_; }
  /// Takes the next row, from top to bottom: columns().count_in pixels of 4 bytes, the fourth of which is not used.
  void add_row(const uint8_t* pixels);
  /// Writes the image as planes: red, green, blue, each wanted rows x wanted columns. Throws std::logic_error where
  /// rows are missing.
  void finish(std::span<uint8_t> planes);

 private:
  AxisWeights columns_, rows_;
  int64_t width_ = 0, height_ = 0, added_ = 0;
  Bytes lines_;                // rows that are read x wanted columns x 4
  Bytes line_;                 // wanted columns x 4
  std::vector<int32_t> wide_;  // a row of pixels, one more, and a row of sums
};

}  // namespace kb
