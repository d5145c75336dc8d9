// Folders of images by class: DIR/train/CLASS/FILE and DIR/test/CLASS/FILE, or val for test.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace kb {

/// Returns the names in a folder, sorted, without hidden ones. Throws DataError, which expects `layout`, where the
/// folder cannot be read.
std::vector<std::string> names_in(const std::filesystem::path& folder, const char* layout);

/// Returns the names of a part's classes, sorted: its folders. Throws DataError where it holds anything else.
std::vector<std::string> class_folders(const std::filesystem::path& part, const char* layout);

/// Returns the classes of DIR/train. Throws DataError also where there are fewer than two.
std::vector<std::string> training_classes(const std::filesystem::path& dir, const char* layout);

/// Returns the part that is tested on: "test" where it holds folders, else "val" where that is there. The published
/// test part of ImageNet has no labels, and so no folders.
std::string test_part(const std::filesystem::path& dir);

}  // namespace kb
