// A decoder of an image file that lies in memory: the size from the header, then a box of the pixels row by row. Pixels
// are as the file stores them: an orientation in its EXIF part is not applied, as the papers' pipelines apply none.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>

namespace kb {

/// In pixels.
struct ImageSize {
  int64_t width = 0, height = 0;
  bool operator==(const ImageSize&) const = default;
};

/// A rectangle of an image, in pixels from its upper left corner.
struct PixelBox {
  int64_t left = 0, top = 0, width = 0, height = 0;
  bool operator==(const PixelBox&) const = default;
};

/// An image file that cannot be decoded: damaged, cut short, of more than kMostPixels, or of another kind than JPEG,
/// PNG and PNM. The text says why.
class UnreadableImage : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Takes one row: as many pixels as the box is wide, of 4 bytes: red, green, blue, and one without meaning.
using RowSink = std::function<void(const uint8_t* pixels)>;

class ImageDecoder {
 public:
  virtual ~ImageDecoder() = default;
  ImageDecoder(const ImageDecoder&) = delete;
  ImageDecoder& operator=(const ImageDecoder&) = delete;

  ImageSize size() const { return size_; }
  /// Whether the file has one colour, which decode() repeats.
  bool is_gray() const { return is_gray_; }
  /// Memory that decode() takes for the image as a whole, in bytes: of interlaced PNGs and progressive JPEGs, whose
  /// first rows are known when all are. 0: rows are made one by one.
  int64_t held_bytes() const { return held_bytes_; }
  /// Hands the rows of `box`, which lies within the image, to `row` from top to bottom; called once. Gray is repeated
  /// in each colour; CMYK becomes (255 - C) (255 - K) / 255 and so on, an alpha channel is dropped. Bits are those of a
  /// decoder of the whole image. Throws UnreadableImage where the file is damaged above the end of the box; what comes
  /// behind it is not looked at.
  virtual void decode(const PixelBox& box, const RowSink& row) = 0;

 protected:
  ImageDecoder() = default;
  ImageSize size_;
  bool is_gray_ = false;
  int64_t held_bytes_ = 0;
};

/// Pixels of an image that is decoded, at most: the largest cameras make 151 million. A file of half a megabyte can
/// promise four thousand million, which take a minute a decode.
constexpr int64_t kMostPixels = 180'000'000;
constexpr int64_t kMostSide = 65535;  ///< pixels of a side of such an image
/// Memory that the decoding of one image may take, in bytes.
constexpr int64_t kDecodeBytes = int64_t{1} << 30;
static_assert(4 * kMostPixels <= kDecodeBytes);  // an interlaced PNG

}  // namespace kb
