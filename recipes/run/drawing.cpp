#include "recipes/run/drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/images/png.h"

namespace kb {
namespace {

constexpr uint8_t kWhite = 255;
constexpr int64_t kGap = 1;  // pixels between images

uint8_t byte_of(double value) {
  return std::isfinite(value) ? static_cast<uint8_t>(std::lround(255 * std::clamp(value, 0.0, 1.0))) : 0;
}

}  // namespace

std::string drawing_name(const DrawnImages& drawn, int64_t step) {
  return fmt::format("{}-{:08}.png", drawn.name, step);
}

std::string drawing_file(const DrawnImages& drawn) {
  const int64_t channels = drawn.shape.at(0), height = drawn.shape.at(1), width = drawn.shape.at(2);
  const int64_t count = std::ssize(drawn.values) / (channels * height * width);
  const auto columns = std::max<int64_t>(1, std::llround(std::ceil(std::sqrt(static_cast<double>(count)))));
  const int64_t rows = std::max<int64_t>(1, (count + columns - 1) / columns);
  const int64_t across = columns * (width + kGap) - kGap, down = rows * (height + kGap) - kGap;
  std::vector<uint8_t> pixels(static_cast<size_t>(across * down * channels), kWhite);
  size_t at = 0;
  for (int64_t image = 0; image < count; ++image)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t y = 0; y < height; ++y)
        for (int64_t x = 0; x < width; ++x) {
          const int64_t row = image / columns * (height + kGap) + y, column = image % columns * (width + kGap) + x;
          pixels[static_cast<size_t>((row * across + column) * channels + c)] = byte_of(drawn.values[at++]);
        }
  return png_file_of(pixels, across, down, channels);
}

}  // namespace kb
