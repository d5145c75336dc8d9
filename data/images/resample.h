// Resampling of images, bilinear with antialiasing. A pixel of the result is the mean of the pixels under a triangle
// whose half width is one pixel of the coarser grid. The rows are resampled first, then the columns; each pass rounds
// to bytes, and its weights are multiples of 2^-22. This is the arithmetic of Pillow's Image.resize(BILINEAR), and its
// bits are those of Pillow up to version 12.1; later ones begin with the columns when the height shrinks much more, and
// may differ by one grey level.
#pragma once

#include <cstdint>
#include <span>

#include "data/bytes.h"
#include "data/images/weighted_sums.h"

namespace kb {

/// An axis of `in` pixels that is resampled to `out` pixels, of which the `count` from `first` on are wanted.
struct ResampledAxis {
  int64_t in = 1, out = 1, first = 0, count = 1;
};

/// Computes the weights of an axis. Throws std::logic_error when an extent is below 1 or a wanted pixel is not among
/// the `out` ones.
void set_weights(AxisWeights& weights, const ResampledAxis& axis);

/// Resamples one image after another in memory that it keeps.
class Resampler {
 public:
  /// Begins an image with these columns and rows.
  void begin(const ResampledAxis& columns, const ResampledAxis& rows);
  /// Returns the columns, and the rows, of the image that add_row() needs.
  const AxisWeights& columns() const { return columns_; }
  const AxisWeights& rows() const { return rows_; }
  /// Takes the next row, from top to bottom: columns().count_in pixels of 4 bytes, the fourth of which is not used.
  void add_row(const uint8_t* pixels);
  /// Writes the image as planes red, green and blue, each wanted rows x wanted columns. Throws std::logic_error when
  /// rows are missing.
  void finish(std::span<uint8_t> planes);

 private:
  AxisWeights columns_, rows_;
  int64_t width_ = 0, height_ = 0, added_ = 0;
  Bytes lines_;  // a line for each row that is read: wanted columns x 4 bytes, and some up to a whole block
  Bytes line_;   // one such line
  Bytes spare_;  // a row with one pixel more, where the taps are more than its pixels; else empty
};

}  // namespace kb
