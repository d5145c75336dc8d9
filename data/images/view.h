// Views of an image: the part of it that a network sees, and its size. A view is a function of the image's size and, in
// training, of (seed, epoch, sample).
#pragma once

#include <cstdint>

#include "data/images/image_decoder.h"
#include "data/images/resample.h"

namespace kb {

/// `box` of the image is resampled to `resized` pixels, and of these a square of `side` pixels from (left, top) on is
/// seen.
struct ImageView {
  PixelBox box;
  ImageSize resized;
  int64_t left = 0, top = 0, side = 1;
  bool operator==(const ImageView&) const = default;
};

/// Returns the view of evaluation: the shorter side is resampled to 8/7 of `side` (256 for 224), and the square in the
/// middle is seen.
ImageView centre_view(ImageSize image, int64_t side);

/// Returns a random crop by scale and aspect ratio (Szegedy et al. 2015, section 6): a box of 8 to 100 % of the image's
/// area, with an aspect ratio from 3/4 to 4/3 that is uniform in its logarithm, resampled to side x side. Up to ten
/// boxes are drawn; if none lies within the image, the largest one in its middle with an allowed ratio is taken, as in
/// torchvision.
ImageView random_view(ImageSize image, int64_t side, uint64_t seed, int64_t epoch, int64_t sample);

/// Returns the planes of red, green and blue of a box, resampled to `size` pixels. Throws UnreadableImage.
Bytes resampled(ImageDecoder& image, const PixelBox& box, ImageSize size);

/// Writes the pixels of a view: planes of red, green and blue, each side x side. Throws UnreadableImage.
void render(ImageDecoder& image, const ImageView& view, Resampler& resampler, std::span<uint8_t> planes);

}  // namespace kb
