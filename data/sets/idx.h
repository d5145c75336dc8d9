// The idx format of MNIST (http://yann.lecun.com/exdb/mnist): a big-endian magic number 0x0000TTDD (element type TT =
// 08 for uint8, DD dimensions), DD 32-bit extents, then the elements. Files are plain or gzip, under the official names
// {train,t10k}-images-idx3-ubyte[.gz] and {train,t10k}-labels-idx1-ubyte[.gz].
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/sets/published.h"

namespace kb {

/// Content that the four files of one idx data set must hold.
struct IdxSpec {
  std::string name;
  std::vector<std::string> class_names;
  std::string source;         ///< where the four files can be fetched: the error for a missing file says so
  PartCounts published = {};  ///< see data/sets/published.h
  ImageShape shape = {1, 28, 28};
  bool is_fetched = false;  ///< by ./run get NAME (data/public_sets.txt)
};

/// Reads the four files from `dir` or `dir/name` (the first place that has one; plain before .gz). Throws DataError for
/// a missing file, a foreign or exchanged one, wrong extents or counts, labels out of range, and test images that are
/// the training images, and counts that are not those published.
Dataset load_idx_dataset(const IdxSpec& spec, const std::filesystem::path& dir);

}  // namespace kb
