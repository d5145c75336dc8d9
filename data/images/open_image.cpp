#include "data/images/open_image.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/images/jpeg.h"
#include "data/images/pixels.h"
#include "data/images/png.h"
#include "data/images/pnm.h"

namespace kb {
namespace {

constexpr uint8_t kPngSignature[] = {0x89, 'P', 'N', 'G', 0x0d, 0x0a, 0x1a, 0x0a};

std::unique_ptr<ImageDecoder> open_of_kind(std::span<const uint8_t> file) {
  if (file.empty()) throw UnreadableImage("an empty file");
  if (file.size() >= 2 && file[0] == 0xff && file[1] == 0xd8) return open_jpeg(file);
  if (file.size() >= std::size(kPngSignature) &&
      std::equal(std::begin(kPngSignature), std::end(kPngSignature), file.begin()))
    return open_png(file);
  if (file.size() >= std::size(kPixelsSignature) &&
      std::equal(std::begin(kPixelsSignature), std::end(kPixelsSignature), file.begin()))
    return open_pixels(file);
  if (file.size() >= 2 && file[0] == 'P' && (file[1] == '5' || file[1] == '6')) return open_pnm(file);
  throw UnreadableImage("neither JPEG, PNG nor binary PNM");
}

}  // namespace

std::unique_ptr<ImageDecoder> open_image(std::span<const uint8_t> file) {
  std::unique_ptr<ImageDecoder> image = open_of_kind(file);
  const auto [width, height] = image->size();
  if (width > kMostSide || height > kMostSide || width * height > kMostPixels)
    throw UnreadableImage(fmt::format("an image of {}x{} pixels: at most {} million are decoded, {} a side", width,
                                      height, kMostPixels / 1'000'000, kMostSide));
  return image;
}

}  // namespace kb
