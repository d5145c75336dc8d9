// Augmentation of images, as decisions apart from pixels: what happens to a sample is a small record, a pure function
// of (seed, epoch, sample), drawn from a stream of its own for each kind, so that switching one on changes no other.
// Who applies the records - the training graph on the GPU or the CPU, or the loader here - makes no difference to a
// bit.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "data/dataset.h"

namespace kb {

struct AugmentSpec {
  bool crop = false;   ///< a window of the image's own size from the image padded with 0 (He et al. 2016, section 4.2)
  bool flip = false;   ///< mirrored left to right, one time in two
  int64_t pad = 4;     ///< of crop, pixels on each side
  int64_t cutout = 0;  ///< side of a square that is painted over (DeVries and Taylor 2017); 0: none
  double mixup = 0;    ///< alpha of mixup (Zhang et al. 2018); 0: none
  // The loader makes these, of images in files alone:
  bool resized_crop = false;  ///< a crop of random scale and aspect ratio; data/images/view.h
  bool jitter = false;        ///< changes brightness, contrast and saturation; data/images/colour.h
  bool lighting = false;      ///< noise along the principal components of colours; likewise

  bool moves() const { return crop || flip; }
  bool needs_files() const { return resized_crop || jitter || lighting; }
  bool any() const { return moves() || cutout > 0 || mixup > 0 || needs_files(); }
  bool operator==(const AugmentSpec&) const = default;
};

/// The zero record leaves an image as it is.
struct AugmentRecord {
  std::array<int32_t, 3> window = {};  ///< first row and column in the image, within +-pad; 1 where mirrored
  std::array<int32_t, 4> box = {};     ///< what cutout covers, of the moved image: rows [0, 2), columns [1, 3)
  float mix = 1;                       ///< weight of the sample itself against its partner's 1 - mix
  bool operator==(const AugmentRecord&) const = default;
};

AugmentRecord augment_record(const AugmentSpec& spec, const ImageShape& shape, uint64_t seed, int64_t epoch,
                             int64_t sample);

/// The row whose sample mixup adds to row `row` of a worker's `rows`: a random permutation of them each step, as the
/// authors' code mixes a minibatch with itself. `first_row` tells the workers apart.
int32_t mix_partner(uint64_t seed, int64_t step, int64_t first_row, int64_t rows, int64_t row);

/// Window and box of `record` applied to one image. Outside the image is 0; the box takes `fill`, one value a channel.
void augment_image(const AugmentRecord& record, const ImageShape& shape, std::span<const uint8_t> fill,
                   std::span<const uint8_t> from, std::span<uint8_t> to);

/// The nearest pixel to the mean of each channel, which cutout paints: the authors paint 0 on normalised images.
std::vector<uint8_t> mean_pixel(std::span<const double> mean);

}  // namespace kb
