// The binary versions of CIFAR-10 and CIFAR-100 (Krizhevsky, "Learning multiple layers of features from tiny images",
// 2009; https://www.cs.toronto.edu/~kriz/cifar.html): records of label bytes and 3072 pixels, the planes red, green and
// blue of 32 x 32. CIFAR-10 has one label and five training files of 10,000 records; CIFAR-100 a coarse and a fine
// label (the class) and one training file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/sets/published.h"

namespace kb {

struct CifarFile {
  std::string name;
  uint64_t content = 0;  ///< content_hash of the published file; 0: not known
};

/// Files that one set must have, and what they must hold.
struct CifarSpec {
  std::string name, folder;              ///< the folder is the one of the published archive
  std::vector<std::string> class_names;  ///< of the last label byte
  int64_t coarse_classes = 0;            ///< of the label byte before it; 0: there is none
  std::vector<CifarFile> train;
  CifarFile test;
  PartCounts published;
  bool is_fetched = false;  ///< by ./run get NAME (data/public_sets.txt)
};

CifarSpec cifar10_spec();
CifarSpec cifar100_spec();

/// Reads the files from `dir`, `dir/folder` or `dir/name`, plain or .gz. Throws DataError for a missing, truncated,
/// exchanged or foreign file, a label out of range, and counts or contents that are not those published (but see
/// data/sets/published.h).
Dataset load_cifar_dataset(const CifarSpec& spec, const std::filesystem::path& dir);

}  // namespace kb
