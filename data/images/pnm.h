// A decoder for binary PNM files: PPM ("P6", colour) and PGM ("P5", grey) with 8 bits a channel and one image a file.
#pragma once

#include <memory>
#include <span>

#include "data/images/image_decoder.h"

namespace kb {

/// Opens a file that has "P5" or "P6", width, height, 255, one white space, and pixels; `file` must outlive the
/// decoder. Throws UnreadableImage for another header. decode() throws it when the file is not as long as its header
/// says.
std::unique_ptr<ImageDecoder> open_pnm(std::span<const uint8_t> file);

}  // namespace kb
