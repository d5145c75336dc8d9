// Random changes of an image's colours in training, after fb.resnet.torch (datasets/imagenet.lua, transforms.lua). They
// are brightness, contrast and saturation, each by a factor from 0.6 to 1.4 and in random order, and lighting noise
// along the principal components of ImageNet's colours with a standard deviation of 0.1 (Krizhevsky et al. 2012,
// section 4.1). All are affine in the colours of a pixel, so an image has one matrix and one shift, and is rounded to
// bytes once.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace kb {

/// Colour c of a pixel becomes (sum over k of matrix[3 c + k] times colour k, plus shift[c]) / 2^16.
struct ColourChange {
  std::array<int32_t, 9> matrix = {1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 16};
  std::array<int32_t, 3> shift = {};
  bool operator==(const ColourChange&) const = default;
};

/// Draws the change for a sample. `mean` is the image's mean red, green and blue, from 0 to 255; contrast is changed
/// about the grey of that.
ColourChange draw_colour_change(bool jitter, bool lighting, const std::array<double, 3>& mean, uint64_t seed,
                                int64_t epoch, int64_t sample);

/// Returns the means of the planes red, green and blue.
std::array<double, 3> mean_colour(std::span<const uint8_t> planes);

/// Changes the planes in place. Values are rounded and limited to 0 and 255.
void change_colours(const ColourChange& change, std::span<uint8_t> planes);

}  // namespace kb
