// Binary PNM files: PPM ("P6", colour) and PGM ("P5", grey) of 8 bits a channel, one image a file.
#pragma once

#include <memory>
#include <span>

#include "data/images/image_decoder.h"

namespace kb {

/// Opens a file of "P5" or "P6", width, height, 255, one white space, pixels; `file` must outlive it. Throws
/// UnreadableImage for another header, as decode() does where the file is not as long as its header says.
std::unique_ptr<ImageDecoder> open_pnm(std::span<const uint8_t> file);

}  // namespace kb
