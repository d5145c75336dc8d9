// Opens image files of all kinds: JPEG, PNG, PNM and bare pixels (data/images/pixels.h). The first bytes tell the kind.
#pragma once

#include <memory>

#include "data/images/image_decoder.h"

namespace kb {

/// Reads the header of `file` and returns its decoder; `file` must outlive it. Throws UnreadableImage.
std::unique_ptr<ImageDecoder> open_image(std::span<const uint8_t> file);

}  // namespace kb
