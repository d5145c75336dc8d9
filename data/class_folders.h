// Images in a folder for each class: DIR/train/CLASS/FILE and DIR/test/CLASS/FILE; val may stand for test. A file whose
// name is not an image's is passed over, and a note says so.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace kb {

/// Returns the names in a folder, sorted, without hidden ones. Throws DataError when the folder cannot be read; its
/// text says that `layout` was expected.
std::vector<std::string> names_in(const std::filesystem::path& folder, const char* layout);

/// The endings of images' names, in lower or upper case.
inline constexpr const char* kImageEndings = ".jpg, .jpeg, .png, .ppm or .pgm";

/// Paths of the files that were passed over.
using PassedOver = std::vector<std::filesystem::path>;

/// Returns "NOTE: 3 files that do not end in ... are passed over: DIR/train/cat/notes.txt, ..."; "" when there are
/// none.
std::string passed_over_note(const PassedOver& files);

/// Returns the classes of a part, train or test, sorted: the names of its folders. Throws DataError when the part holds
/// something that is neither a folder nor a file.
std::vector<std::string> class_folders(const std::filesystem::path& part, const char* layout, PassedOver& passed);

/// Returns the names of the images of a class, sorted. Throws DataError when the folder holds a folder, or no image.
std::vector<std::string> images_of_class(const std::filesystem::path& folder, const char* layout, PassedOver& passed);

/// Returns the classes of DIR/train. Throws DataError as class_folders() does, and when there are fewer than two
/// classes.
std::vector<std::string> training_classes(const std::filesystem::path& dir, const char* layout, PassedOver& passed);

/// Returns the name of the part that is tested on: "test" if it holds folders, else "val" if that exists, else "".
/// ImageNet's published test part has no labels and so no folders.
std::string test_part(const std::filesystem::path& dir);

}  // namespace kb
