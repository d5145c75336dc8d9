// A decoder for PNG by libpng (data/images/image_decoder.h).
#pragma once

#include <memory>

#include "data/images/image_decoder.h"

namespace kb {

std::unique_ptr<ImageDecoder> open_png(std::span<const uint8_t> file);

}  // namespace kb
