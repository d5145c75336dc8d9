// A decoder for PNG by libpng (data/images/image_decoder.h).
#pragma once

#include <memory>
#include <string>

#include "data/images/image_decoder.h"

namespace kb {

std::unique_ptr<ImageDecoder> open_png(std::span<const uint8_t> file);

// Returns a PNG file of an image whose pixels lie row by row, `channels` bytes each: 1 (grey) or 3 (red, green, blue).
std::string png_file_of(std::span<const uint8_t> pixels, int64_t width, int64_t height, int64_t channels);

}  // namespace kb
