// The door to all data sets, by name: reads what lies on disk (idx, CIFAR, a folder) or draws what needs no download
// (glyphs, synthetic).
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.h"

namespace kb {

/// Loads `name`, one of `dataset_names()`, from `dir` or `dir/name`; a drawn set ignores `dir`. Throws DataError for an
/// unknown name, a missing file (with every path looked for), every malformed file, and content that is not the one
/// published, unless it says so itself (data/sets/published.h). At most `threads` draw what is drawn.
Dataset load_dataset(std::string_view name, const std::filesystem::path& dir, int threads = 1);

/// The names that `load_dataset` takes, in the order of its table.
std::vector<std::string> dataset_names();

}  // namespace kb
