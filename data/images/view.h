// Views of an image: which part of it a network sees, and at which size. A view is a pure function of the image's size
// and, in training, of (seed, epoch, sample).
#pragma once

#include <cstdint>

#include "data/images/image_decoder.h"
#include "data/images/resample.h"

namespace kb {

/// The box of the image is resampled to `resized` pixels, of which the square of `side` pixels from (left, top) is
/// seen.
struct ImageView {
  PixelBox box;
  ImageSize resized;
  int64_t left = 0, top = 0, side = 1;
  bool operator==(const ImageView&) const = default;
};

/// The view of evaluation: the shorter side resampled to 8/7 of `side` (256 for 224), then the square in the middle.
ImageView centre_view(ImageSize image, int64_t side);

/// A random crop by scale and aspect ratio (Szegedy et al. 2015, section 6): a box of 8 to 100 % of the image's area
/// and an aspect ratio between 3/4 and 4/3, uniform in its logarithm, resampled to side x side. Ten boxes are drawn;
/// where none lies within the image, the largest in its middle with an allowed ratio is taken, as in torchvision.
ImageView random_view(ImageSize image, int64_t side, uint64_t seed, int64_t epoch, int64_t sample);

/// Makes the pixels of a view: planes of red, green and blue, each side x side. Throws UnreadableImage.
void render(ImageDecoder& image, const ImageView& view, Resampler& resampler, std::span<uint8_t> planes);

}  // namespace kb
