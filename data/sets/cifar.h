// The binary versions of CIFAR-10 and CIFAR-100 (Krizhevsky, "Learning multiple layers of features from tiny images",
// 2009; https://www.cs.toronto.edu/~kriz/cifar.html). A record has the label bytes and 3072 pixels: the planes red,
// green and blue of 32 x 32. CIFAR-10 has one label, and five training files of 10,000 records. CIFAR-100 has a coarse
// and a fine label, of which the fine one is the class, and one training file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/sets/published.h"

namespace kb {

inline constexpr ImageShape kCifarShape = {3, 32, 32};

struct CifarFile {
  std::string name;
  uint64_t content = 0;  ///< content_hash of the published file; 0: it is not known
};

/// The files that one set must have, and their content.
struct CifarSpec {
  std::string name, folder;              ///< `folder` is the one in the published archive
  std::vector<std::string> class_names;  ///< names of the last label byte's values
  int64_t coarse_classes = 0;            ///< number of values of the label byte before it; 0: there is no such byte
  std::vector<CifarFile> train;
  CifarFile test;
  PartCounts published;
  bool is_fetched = false;  ///< true: ./run get NAME fetches it (data/public_sets.txt)
};

CifarSpec cifar10_spec();
CifarSpec cifar100_spec();

/// Reads the files from `dir`, `dir/folder` or `dir/name`, plain or .gz. Throws DataError when a file is missing,
/// truncated, exchanged or foreign, a label is out of range, or counts or contents are not those published
/// (data/sets/published.h tells how to use other ones).
Dataset load_cifar_dataset(const CifarSpec& spec, const std::filesystem::path& dir);

}  // namespace kb
