// Images as bare pixels: the kind of file that a pack holds where decoding is to cost nothing. 8 letters KBPIXELS,
// width and height as 32 bits each, then red, green and blue of each pixel, row by row.
#pragma once

#include <memory>

#include "data/bytes.h"
#include "data/images/image_decoder.h"

namespace kb {

constexpr char kPixelsSignature[] = {'K', 'B', 'P', 'I', 'X', 'E', 'L', 'S'};

std::unique_ptr<ImageDecoder> open_pixels(std::span<const uint8_t> file);
/// `pixels`: red, green and blue of each, row by row.
Bytes encode_pixels(std::span<const uint8_t> pixels, ImageSize size);

}  // namespace kb
