// Image files of bare pixels, which take no time to decode; a pack may hold them. A file has the 8 letters KBPIXELS,
// width and height in 32 bits each, then red, green and blue of each pixel, row by row.
#pragma once

#include <memory>

#include "data/bytes.h"
#include "data/images/image_decoder.h"

namespace kb {

constexpr char kPixelsSignature[] = {'K', 'B', 'P', 'I', 'X', 'E', 'L', 'S'};

std::unique_ptr<ImageDecoder> open_pixels(std::span<const uint8_t> file);
/// Returns such a file; `pixels` has red, green and blue of each pixel, row by row.
Bytes encode_pixels(std::span<const uint8_t> pixels, ImageSize size);

}  // namespace kb
