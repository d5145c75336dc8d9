// Loads any data set by name: from files (idx, CIFAR, a folder), or drawn without a download (glyphs, synthetic).
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.h"

namespace kb {

/// Loads `name`, one of dataset_names(), from `dir` or `dir/name`. A set that is drawn ignores `dir`, and at most
/// `threads` threads draw it. Throws DataError for an unknown name, a missing file (with every path that was tried), a
/// malformed file, and content that is not the published one, unless it says so itself (data/sets/published.h).
Dataset load_dataset(std::string_view name, const std::filesystem::path& dir, int threads = 1);

/// Returns the names that load_dataset() takes, in the order of its table.
std::vector<std::string> dataset_names();

}  // namespace kb
