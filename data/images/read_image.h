// One image file on its way into a data set of another form: whole, as a set of one size has it; fitted into such a
// set's size and colours; or seen through a square, as a set of images of any size evaluates it. All of them throw
// DataError, which names the file, where it cannot be read or is no image.
#pragma once

#include <filesystem>

#include "data/bytes.h"
#include "data/dataset.h"

namespace kb {

struct Image {
  ImageShape shape;  ///< of 1 channel where the file has one colour, else of 3
  Bytes pixels;      ///< planes, C x H x W
};

Image read_image(const std::filesystem::path& path);

/// Returns the planes of the image in a shape of 1 or 3 channels: the largest box in its middle that has the shape's
/// aspect ratio, resampled (data/images/resample.h) where it has another size. Of colours 1 channel takes the luma of
/// ITU-R BT.601, (19595 R + 38470 G + 7471 B) / 65536 rounded, as Pillow does; 3 channels repeat grey. An image of the
/// shape itself stays as it is.
Bytes read_fitted_image(const std::filesystem::path& path, const ImageShape& shape);

/// Returns the planes of the image's centre_view (data/images/view.h), 3 x side x side.
Bytes read_centre_view(const std::filesystem::path& path, int64_t side);

}  // namespace kb
