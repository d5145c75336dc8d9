// Image files made for tests: JPEGs of every kind that decoders meet, PNGs, and pixels to put in them.
#pragma once

#include <cstdint>
#include <vector>

#include "data/bytes.h"
#include "data/images/open_image.h"

namespace kb::test {

struct JpegKind {
  int components = 3;                // 1 gray, 3 YCbCr, 4 CMYK
  int horizontal = 2, vertical = 2;  // samples of luma for one sample of colour, along each axis
  bool progressive = false;
  bool ycck = false;         // 4 components are stored as YCCK
  bool adobe_marker = true;  // 4 components have a marker, which says that inks are inverted
  int restart = 0;           // blocks between restart markers; 0: no markers
  int orientation = 0;       // orientation in an EXIF part; 0: no such part
  int quality = 90;
  bool arithmetic = false;  // arithmetic coding in place of Huffman's
};

// `pixels` has kind.components numbers for each pixel, row by row, as they are handed to libjpeg.
Bytes jpeg_file(const std::vector<uint8_t>& pixels, ImageSize size, const JpegKind& kind = {});
// `pixels` has 1 (gray), 2 (gray and alpha), 3 (colour) or 4 (colour and alpha) components.
Bytes png_file(const std::vector<uint8_t>& pixels, ImageSize size, int components, bool interlaced = false);

// Returns pixels of smooth shapes with some noise.
std::vector<uint8_t> made_pixels(ImageSize size, int components, uint64_t seed = 1);

// Returns the red, green and blue of each pixel of a box, or of the whole image.
std::vector<uint8_t> decoded(const Bytes& file, const PixelBox& box);
std::vector<uint8_t> decoded(const Bytes& file);
// Returns the text of the UnreadableImage that opening and decoding the whole file throws, or "(nothing thrown)".
std::string decoding_error(const Bytes& file);

}  // namespace kb::test
