// A user's own images of one size, in a folder for each class: DIR/train/CLASS/* and DIR/test/CLASS/*, or val in place
// of test; without both, the set has no test part. Files are PNG, JPEG, binary PPM (colour) or PGM (grey) with 8 bits a
// channel. For images of any size see data/images/image_set.h.
#pragma once

#include "data/dataset.h"

namespace kb {

/// Loads the set. Classes are numbered in the order of their names, and a class's images are in the order of theirs.
/// Hidden files are skipped; a file whose name does not end as an image's is passed over with a note. Throws DataError,
/// which names the file, for another format or size, a damaged file, a class without images, or classes that only one
/// part has.
Dataset load_folder_dataset(const std::filesystem::path& dir);

}  // namespace kb
