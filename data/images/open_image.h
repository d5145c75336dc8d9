// The door to image files of all kinds: JPEG, PNG, PNM, and bare pixels (data/images/pixels.h), told apart by how they
// begin.
#pragma once

#include <memory>

#include "data/images/image_decoder.h"

namespace kb {

/// Reads the header. The bytes must outlive the decoder. Throws UnreadableImage.
std::unique_ptr<ImageDecoder> open_image(std::span<const uint8_t> file);

}  // namespace kb
