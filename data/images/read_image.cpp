#include "data/images/read_image.h"

#include <algorithm>
#include <stdexcept>

#include "data/data_file.h"
#include "data/error.h"
#include "data/images/open_image.h"
#include "data/images/view.h"

namespace kb {
namespace fs = std::filesystem;
namespace {

// Opens a file and returns what `use` returns for its decoder.
template <class Use>
auto with_image(const fs::path& path, const Use& use) {
  const DataFile file(path);
  try {
    if (file.size() > kMostFileBytes) throw UnreadableImage("a file that is larger than any image that is decoded");
    const Bytes bytes = file.read(0, file.size());
    return use(*open_image(bytes));
  } catch (const UnreadableImage& error) {
    throw DataError({path.string(), "is not an image that is read here", "PNG, JPEG, binary PPM (P6) or PGM (P5)",
                     error.what(), "convert it: mogrify -format png FILES (ImageMagick)"});
  }
}

// Returns the largest box in the middle of the image that has the aspect ratio of `shape`.
PixelBox fitted_box(ImageSize image, ImageSize shape) {
  ImageSize box = image;
  if (image.width * shape.height > image.height * shape.width)
    box.width = std::max<int64_t>(1, (image.height * shape.width + shape.height / 2) / shape.height);
  else
    box.height = std::max<int64_t>(1, (image.width * shape.height + shape.width / 2) / shape.width);
  return {(image.width - box.width) / 2, (image.height - box.height) / 2, box.width, box.height};
}

Bytes luma_of(const Bytes& planes) {
  const size_t plane = planes.size() / 3;
  Bytes luma(plane);
  for (size_t i = 0; i < plane; ++i)
    luma[i] = static_cast<uint8_t>(
        (19595u * planes[i] + 38470u * planes[plane + i] + 7471u * planes[2 * plane + i] + 0x8000u) >> 16);
  return luma;
}

}  // namespace

// Memory grows as rows arrive, so that a file that claims too many rows takes none.
Image read_image(const fs::path& path) {
  return with_image(path, [](ImageDecoder& decoder) {
    const ImageSize size = decoder.size();
    std::vector<uint8_t> pixels;
    decoder.decode({0, 0, size.width, size.height},
                   [&](const uint8_t* row) { pixels.insert(pixels.end(), row, row + 4 * size.width); });
    Image image{{decoder.is_gray() ? 1 : 3, size.height, size.width}, {}};
    for (int64_t c = 0; c < image.shape.channels; ++c)
      for (size_t p = 0; p < pixels.size(); p += 4) image.pixels.push_back(pixels[p + static_cast<size_t>(c)]);
    return image;
  });
}

Bytes read_fitted_image(const fs::path& path, const ImageShape& shape) {
  if (shape.channels != 1 && shape.channels != 3) throw std::logic_error("an image is fitted into 1 or 3 channels");
  const ImageSize to{shape.width, shape.height};
  return with_image(path, [&](ImageDecoder& image) {
    Bytes planes = resampled(image, fitted_box(image.size(), to), to);
    return shape.channels == 3 ? planes : luma_of(planes);
  });
}

Bytes read_centre_view(const fs::path& path, int64_t side) {
  return with_image(path, [side](ImageDecoder& image) {
    Bytes planes(3 * static_cast<size_t>(side * side));
    Resampler resampler;
    render(image, centre_view(image.size(), side), resampler, planes);
    return planes;
  });
}

}  // namespace kb
