// Image files made for tests: JPEGs of every kind that decoders meet, PNGs, and pixels to put in them.
#pragma once

#include <cstdint>
#include <vector>

#include "data/bytes.h"
#include "data/images/open_image.h"

namespace kb::test {

struct JpegKind {
  int components = 3;                // 1 gray, 3 YCbCr, 4 CMYK
  int horizontal = 2, vertical = 2;  // samples of luma for one of colour
  bool progressive = false;
  bool ycck = false;         // of 4 components: stored as YCCK
  bool adobe_marker = true;  // of 4 components: says that inks are inverted
  int restart = 0;           // blocks between restart markers
  int orientation = 0;       // of an EXIF part; 0: there is none
  int quality = 90;
  bool arithmetic = false;  // coded, in place of Huffman
};

// `pixels`: of so many components, row by row, as they are handed to libjpeg.
Bytes jpeg_file(const std::vector<uint8_t>& pixels, ImageSize size, const JpegKind& kind = {});
// `pixels`: of 1 (gray), 2 (with alpha), 3 or 4 components.
Bytes png_file(const std::vector<uint8_t>& pixels, ImageSize size, int components, bool interlaced = false);

// Smooth shapes with some noise.
std::vector<uint8_t> made_pixels(ImageSize size, int components, uint64_t seed = 1);

// The pixels of a box, red, green and blue of each.
std::vector<uint8_t> decoded(const Bytes& file, const PixelBox& box);
std::vector<uint8_t> decoded(const Bytes& file);
// The text of UnreadableImage for opening and decoding it whole, or "(nothing thrown)".
std::string decoding_error(const Bytes& file);

}  // namespace kb::test
