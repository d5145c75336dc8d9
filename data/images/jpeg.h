// JPEG by libjpeg-turbo, see data/images/image_decoder.h: only the crop is transformed and converted.
#pragma once

#include <memory>

#include "data/bytes.h"
#include "data/images/image_decoder.h"

namespace kb {

std::unique_ptr<ImageDecoder> open_jpeg(std::span<const uint8_t> file);

/// Reads all coefficients of a JPEG and makes no pixels of them: the part of decoding that a crop cannot spare. Returns
/// the number of 8 x 8 blocks. Throws UnreadableImage.
int64_t decode_entropy(std::span<const uint8_t> file);

/// Writes `pixels` (red, green, blue; a byte each, row by row) as a JPEG of `quality` 1 to 100 with colour at half the
/// resolution (4:2:0).
Bytes encode_jpeg(std::span<const uint8_t> pixels, ImageSize size, int quality);

}  // namespace kb
