// Reads one image file for a data set of another form: as it is, for a set of one size; fitted into a set's size and
// colours; or as a square, the way a set of images of any size is evaluated. Each function throws DataError, which
// names the file, when it cannot be read or is no image.
#pragma once

#include <filesystem>

#include "data/bytes.h"
#include "data/dataset.h"

namespace kb {

struct Image {
  ImageShape shape;  ///< 1 channel if the file has one colour, else 3
  Bytes pixels;      ///< planes, C x H x W
};

Image read_image(const std::filesystem::path& path);

/// Returns the planes of the image in a shape of 1 or 3 channels: the largest box in its middle with the shape's aspect
/// ratio, resampled (data/images/resample.h) if its size differs. A coloured image gives 1 channel by the luma of ITU-R
/// BT.601, (19595 R + 38470 G + 7471 B) / 65536 rounded, as in Pillow; a grey one is repeated in 3 channels. An image
/// that has the shape already stays as it is.
Bytes read_fitted_image(const std::filesystem::path& path, const ImageShape& shape);

/// Returns the planes of the image's centre_view (data/images/view.h), 3 x side x side.
Bytes read_centre_view(const std::filesystem::path& path, int64_t side);

}  // namespace kb
