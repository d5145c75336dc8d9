// The idx format of MNIST (http://yann.lecun.com/exdb/mnist): a big-endian magic number 0x0000TTDD (TT = 08 for uint8
// elements, DD dimensions), DD extents of 32 bits, then the elements. Files are plain or gzip and have the official
// names {train,t10k}-images-idx3-ubyte[.gz] and {train,t10k}-labels-idx1-ubyte[.gz].
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/sets/published.h"

namespace kb {

/// The contents that the four files of one set must have.
struct IdxSpec {
  std::string name;
  std::vector<std::string> class_names;
  std::string source;         ///< address of the four files, which the error for a missing file names
  PartCounts published = {};  ///< numbers of samples; see data/sets/published.h
  ImageShape shape = {1, 28, 28};
  bool is_fetched = false;  ///< true: ./run get NAME fetches it (data/public_sets.txt)
};

/// Reads the four files from `dir` or `dir/name`, whichever has one first; plain before .gz. Throws DataError for a
/// missing, foreign or exchanged file, extents or counts that are wrong or not those published, labels out of range,
/// and test images that are the training images.
Dataset load_idx_dataset(const IdxSpec& spec, const std::filesystem::path& dir);

}  // namespace kb
