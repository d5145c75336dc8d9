// PNG by libpng, see data/images/decode.h.
#pragma once

#include "data/images/decode.h"

namespace kb {

std::unique_ptr<ImageDecoder> open_png(std::span<const uint8_t> file);

}  // namespace kb
