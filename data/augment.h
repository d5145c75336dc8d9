// Augmentation of images, decided apart from the pixels. What happens to a sample is a small record, a function of
// (seed, epoch, sample). Each kind of change has a stream of random numbers of its own, so that switching one on leaves
// the others as they are. The training graph applies the records on the GPU or the CPU, or the loader does it here,
// with the same bits.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "data/dataset.h"

namespace kb {

struct AugmentSpec {
  /// Takes a window of the image's own size from the image padded with 0 (He et al. 2016, section 4.2).
  bool crop = false;
  bool flip = false;   ///< mirrors the image left to right, one time in two
  int64_t pad = 4;     ///< pixels that `crop` pads on each side
  int64_t cutout = 0;  ///< side of a square that is painted over (DeVries and Taylor 2017); 0: none
  double mixup = 0;    ///< alpha of mixup (Zhang et al. 2018); 0: none
  // These three are made by the loader, for images that lie in files:
  bool resized_crop = false;  ///< a crop of random scale and aspect ratio; data/images/view.h
  bool jitter = false;        ///< changes brightness, contrast and saturation; data/images/colour.h
  bool lighting = false;      ///< noise along the principal components of colours; data/images/colour.h

  bool moves() const { return crop || flip; }
  bool needs_files() const { return resized_crop || jitter || lighting; }
  bool any() const { return moves() || cutout > 0 || mixup > 0 || needs_files(); }
  bool operator==(const AugmentSpec&) const = default;
};

/// The augmentation of one sample. A record of zeros and mix 1 leaves the image as it is.
struct AugmentRecord {
  std::array<int32_t, 3> window = {};  ///< first row and column in the image, within +-pad; 1: mirrored, else 0
  /// The area of the moved image that cutout covers: rows from [0] up to [2], columns from [1] up to [3].
  std::array<int32_t, 4> box = {};
  float mix = 1;  ///< weight of the sample; its mixup partner has 1 - mix
  bool operator==(const AugmentRecord&) const = default;
};

AugmentRecord augment_record(const AugmentSpec& spec, const ImageShape& shape, uint64_t seed, int64_t epoch,
                             int64_t sample);

/// Returns the row whose sample mixup adds to row `row` of a worker's `rows` rows. Each step has a random permutation,
/// so a minibatch is mixed with itself as in the authors' code. `first_row` makes workers differ.
int32_t mix_partner(uint64_t seed, int64_t step, int64_t first_row, int64_t rows, int64_t row);

/// Applies window and box of `record` to one image. Pixels outside of the image are 0; the box gets `fill`, one value a
/// channel.
void augment_image(const AugmentRecord& record, const ImageShape& shape, std::span<const uint8_t> fill,
                   std::span<const uint8_t> from, std::span<uint8_t> pixels);

/// Returns the mean of each channel, rounded to a pixel value. cutout paints with it: the authors paint 0 on normalised
/// images.
std::vector<uint8_t> mean_pixel(std::span<const double> mean);

}  // namespace kb
