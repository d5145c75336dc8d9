// Fuzzes the readers of image files: JPEG, PNG and bare pixels. The first four bytes choose a box of the image and how
// it is viewed; the rest is the file.
#include "data/images/jpeg.h"
#include "data/images/open_image.h"
#include "data/images/view.h"
#include "tests/fuzz/target.h"

namespace kb::fuzz::images_target {
namespace {

constexpr int64_t kMostDecoded = 4 << 20;  // greatest box, pixels: a greater one takes long, and tests no other code

// Returns a position from 0 to `most`.
int64_t place(uint8_t byte, int64_t most) { return most * byte / 255; }

}  // namespace

KB_FUZZ_TARGET(images) {
  Steering steering(data, size);
  const uint8_t left = steering.byte(), top = steering.byte(), width = steering.byte(), height = steering.byte();
  const std::string_view rest = steering.rest();
  const std::span<const uint8_t> file(reinterpret_cast<const uint8_t*>(rest.data()), rest.size());
  try {
    const auto image = open_image(file);
    const ImageSize s = image->size();
    require(s.width > 0 && s.height > 0, "an image has pixels");
    PixelBox box{place(left, s.width - 1), place(top, s.height - 1), 0, 0};
    box.width = 1 + place(width, s.width - box.left - 1);
    box.height = 1 + place(height, s.height - box.top - 1);
    if (box.width * box.height > kMostDecoded) return;
    if (left % 2 == 0) {
      int64_t rows = 0;
      image->decode(box, [&](const uint8_t*) { ++rows; });
      require(rows == box.height, "as many rows as the box is high");
    } else {
      std::vector<uint8_t> planes(3 * 24 * 24);
      Resampler resampler;
      render(*image, top % 2 == 0 ? centre_view(s, 24) : ImageView{box, {24, 24}, 0, 0, 24}, resampler, planes);
    }
    if (width % 4 == 0 && file.size() > 1 && file[0] == 0xff) decode_entropy(file);
  } catch (const UnreadableImage&) {
  }
}

}  // namespace kb::fuzz::images_target
