// Loads any data set by name: from files (idx, CIFAR, a folder), or drawn without a download (glyphs, synthetic).
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.h"

namespace kb {

/// Loads `name`, one of dataset_names(), from `dir` or `dir/name`. A set that is drawn ignores `dir`, and at most
/// `threads` threads draw it; what they draw is kept in `cache`, a folder; empty: none. Throws DataError for an unknown
/// name, a missing file (with every path that was tried), a malformed file, and content that is not the published one,
/// unless it says so itself (data/sets/published.h).
Dataset load_dataset(std::string_view name, const std::filesystem::path& dir, int threads = 1,
                     const std::filesystem::path& cache = {});

/// Shape, classes and numbers of samples of a set whose content is fixed, because it was published or is drawn.
struct SetFacts {
  ImageShape shape;
  int64_t classes = 0, train_count = 0, test_count = 0;
};
/// Returns the facts of a set by name, without its files; nothing for an unknown name, and for `folder` and
/// `synthetic`.
std::optional<SetFacts> set_facts(std::string_view name);

/// Returns the names that load_dataset() takes, in the order of its table.
std::vector<std::string> dataset_names();

}  // namespace kb
