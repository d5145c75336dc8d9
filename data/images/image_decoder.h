// A decoder of an image file that lies in memory. It reads the size from the header, then hands over a box of the
// pixels row by row. It does not apply an orientation in the file's EXIF part, as the papers' pipelines do not.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>

namespace kb {

/// The size of an image in pixels.
struct ImageSize {
  int64_t width = 0, height = 0;
  bool operator==(const ImageSize&) const = default;
};

/// A rectangle of an image, in pixels from its upper left corner.
struct PixelBox {
  int64_t left = 0, top = 0, width = 0, height = 0;
  bool operator==(const PixelBox&) const = default;
};

/// Says why an image file cannot be decoded: it is damaged, cut short, larger than kMostPixels, or not JPEG, PNG or
/// PNM.
class UnreadableImage : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Takes one row of the box. A pixel is 4 bytes: red, green, blue, and one without meaning.
using RowSink = std::function<void(const uint8_t* pixels)>;

class ImageDecoder {
 public:
  virtual ~ImageDecoder() = default;
  ImageDecoder(const ImageDecoder&) = delete;
  ImageDecoder& operator=(const ImageDecoder&) = delete;

  ImageSize size() const { return size_; }
  /// Returns whether the file has one colour; decode() repeats it.
  bool is_gray() const { return is_gray_; }
  /// Returns the bytes of memory that decode() needs for the whole image. Interlaced PNGs and progressive JPEGs need
  /// it, because their first rows are known only when all are. 0: rows are decoded one by one.
  int64_t held_bytes() const { return held_bytes_; }
  /// Hands the rows of `box`, which lies within the image, to `row` from top to bottom; it is called once. Grey is
  /// repeated in each colour, CMYK becomes (255 - C) (255 - K) / 255 and so on, and an alpha channel is dropped. The
  /// bits are those of decoding the whole image. Throws UnreadableImage when the file is damaged above the end of the
  /// box; it does not look at what follows.
  virtual void decode(const PixelBox& box, const RowSink& row) = 0;

 protected:
  ImageDecoder() = default;
  ImageSize size_;
  bool is_gray_ = false;
  int64_t held_bytes_ = 0;
};

/// The most pixels of an image that is decoded. The largest cameras make 151 million. A file of half a megabyte can
/// claim four thousand million, which would take a minute to decode.
constexpr int64_t kMostPixels = 180'000'000;
constexpr int64_t kMostSide = 65535;  ///< the most pixels along a side of an image
/// The most bytes of an image file that is read: kMostPixels of 8 bytes, as an uncompressed PNG may hold them, and room
/// for its chunks.
constexpr size_t kMostFileBytes = 9 * static_cast<size_t>(kMostPixels);
/// The most bytes of memory that decoding one image may take.
constexpr int64_t kDecodeBytes = int64_t{1} << 30;
static_assert(4 * kMostPixels <= kDecodeBytes);  // an interlaced PNG takes 4 bytes a pixel

}  // namespace kb
