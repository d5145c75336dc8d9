// A decoder for JPEG by libjpeg-turbo (data/images/image_decoder.h), which transforms the crop alone, and an encoder.
#pragma once

#include <memory>

#include "data/bytes.h"
#include "data/images/image_decoder.h"

namespace kb {

std::unique_ptr<ImageDecoder> open_jpeg(std::span<const uint8_t> file);

/// Reads all coefficients of a JPEG without making pixels, a part of decoding that a crop cannot save. Returns the
/// number of 8 x 8 blocks. Throws UnreadableImage.
int64_t decode_entropy(std::span<const uint8_t> file);

/// Returns `pixels` (rows of red, green, blue, a byte each) as a JPEG of `quality` 1 to 100, with colours at half the
/// resolution (4:2:0).
Bytes encode_jpeg(std::span<const uint8_t> pixels, ImageSize size, int quality);

}  // namespace kb
