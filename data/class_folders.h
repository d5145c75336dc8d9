// Folders of images by class: DIR/train/CLASS/FILE and DIR/test/CLASS/FILE, or val for test. Files that are no images
// by their names are passed over, and told.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace kb {

/// Returns the names in a folder, sorted, without hidden ones. Throws DataError, which expects `layout`, where the
/// folder cannot be read.
std::vector<std::string> names_in(const std::filesystem::path& folder, const char* layout);

/// Endings of the names that count as images, in any case.
inline constexpr const char* kImageEndings = ".jpg, .jpeg, .png, .ppm or .pgm";

/// Paths of files that a listing passed over.
using PassedOver = std::vector<std::filesystem::path>;

/// Returns "NOTE: 3 files that do not end in ... are passed over: DIR/train/cat/notes.txt, ..."; "" where there is
/// none.
std::string passed_over_note(const PassedOver& files);

/// Returns the names of a part's classes, sorted: its folders. Throws DataError where it holds what is neither a folder
/// nor a file.
std::vector<std::string> class_folders(const std::filesystem::path& part, const char* layout, PassedOver& passed);

/// Returns the names of the images of a class, sorted. Throws DataError where the folder holds a folder, or no image.
std::vector<std::string> images_of_class(const std::filesystem::path& folder, const char* layout, PassedOver& passed);

/// Returns the classes of DIR/train. Throws DataError also where there are fewer than two.
std::vector<std::string> training_classes(const std::filesystem::path& dir, const char* layout, PassedOver& passed);

/// Returns the part that is tested on: "test" where it holds folders, else "val" where that is there; "" where there is
/// neither. The published test part of ImageNet has no labels, and so no folders.
std::string test_part(const std::filesystem::path& dir);

}  // namespace kb
