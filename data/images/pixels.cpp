#include "data/images/pixels.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace kb {
namespace {

struct PixelsHeader {
  char signature[8];
  uint32_t width, height;
};

// Writes pixels of 3 bytes as pixels of 4, the last of which means nothing: the next pixel's first byte, but for the
// last pixel, behind which the file may end.
void widen(const uint8_t* from, int64_t count, uint8_t* to) {
  for (int64_t x = 0; x + 1 < count; ++x) std::memcpy(to + 4 * x, from + 3 * x, 4);
  std::memcpy(to + 4 * (count - 1), from + 3 * (count - 1), 3);
}

class PixelsDecoder : public ImageDecoder {
 public:
  explicit PixelsDecoder(std::span<const uint8_t> file) {
    PixelsHeader header;
    if (file.size() < sizeof header) throw UnreadableImage("the file is cut short");
    std::memcpy(&header, file.data(), sizeof header);
    size_ = {header.width, header.height};
    pixels_ = file.subspan(sizeof header);
    // The sizes are divided, because a product of what was read might exceed 64 bits.
    if (size_.width < 1 || size_.height < 1 || pixels_.size() / 3 / header.width != header.height ||
        pixels_.size() != size_t{3} * header.width * header.height)
      throw UnreadableImage("the file is not as long as its size in pixels says");
  }

  void decode(const PixelBox& box, const RowSink& row) override {
    std::vector<uint8_t> line(4 * static_cast<size_t>(box.width));
    for (int64_t y = box.top; y < box.top + box.height; ++y) {
      const uint8_t* from = pixels_.data() + 3 * (y * size_.width + box.left);
      widen(from, box.width, line.data());
      row(line.data());
    }
  }

 private:
  std::span<const uint8_t> pixels_;
};

}  // namespace

std::unique_ptr<ImageDecoder> open_pixels(std::span<const uint8_t> file) {
  return std::make_unique<PixelsDecoder>(file);
}

Bytes encode_pixels(std::span<const uint8_t> pixels, ImageSize size) {
  PixelsHeader header{{}, static_cast<uint32_t>(size.width), static_cast<uint32_t>(size.height)};
  std::copy(std::begin(kPixelsSignature), std::end(kPixelsSignature), header.signature);
  Bytes file(sizeof header + pixels.size());
  std::memcpy(file.data(), &header, sizeof header);
  std::copy(pixels.begin(), pixels.end(), file.begin() + sizeof header);
  return file;
}

}  // namespace kb
