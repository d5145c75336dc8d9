#include "data/images/open_image.h"

#include <algorithm>

#include "data/images/jpeg.h"
#include "data/images/pixels.h"
#include "data/images/png.h"

namespace kb {
namespace {

constexpr uint8_t kPngSignature[] = {0x89, 'P', 'N', 'G', 0x0d, 0x0a, 0x1a, 0x0a};

}  // namespace

std::unique_ptr<ImageDecoder> open_image(std::span<const uint8_t> file) {
  if (file.empty()) throw UnreadableImage("an empty file");
  if (file.size() >= 2 && file[0] == 0xff && file[1] == 0xd8) return open_jpeg(file);
  if (file.size() >= std::size(kPngSignature) &&
      std::equal(std::begin(kPngSignature), std::end(kPngSignature), file.begin()))
    return open_png(file);
  if (file.size() >= std::size(kPixelsSignature) &&
      std::equal(std::begin(kPixelsSignature), std::end(kPixelsSignature), file.begin()))
    return open_pixels(file);
  throw UnreadableImage("neither JPEG nor PNG");
}

}  // namespace kb
