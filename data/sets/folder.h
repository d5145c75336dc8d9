// Images of your own, a folder a class: DIR/train/CLASS/* and DIR/test/CLASS/* (or val where there is no test; neither:
// the set has no test part), all of one size: PNG, JPEG, binary PPM (colour) or PGM (grey) files with 8 bits a channel.
// Images of any size: data/images/image_set.h.
#pragma once

#include "data/dataset.h"

namespace kb {

/// Classes are numbered in the order of their names, images of a class come in the order of theirs; hidden files are
/// passed over, and files whose names do not end like an image's with a note. Throws DataError, naming the file, for
/// another format or size, a damaged file, a class without images, and classes that training and test part have not in
/// common.
Dataset load_folder_dataset(const std::filesystem::path& dir);

}  // namespace kb
