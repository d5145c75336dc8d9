#include "data/class_folders.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/error.h"

namespace kb {
namespace fs = std::filesystem;

std::vector<std::string> names_in(const fs::path& folder, const char* layout) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (std::string name = at->path().filename().string(); !name.starts_with(".")) names.push_back(std::move(name));
  if (error) throw DataError({folder.string(), "cannot be read", layout, error.message(), ""});
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> class_folders(const fs::path& part, const char* layout) {
  std::vector<std::string> classes = names_in(part, layout);
  std::error_code error;
  for (const std::string& name : classes)
    if (!fs::is_directory(part / name, error))
      throw DataError({(part / name).string(), "is not the folder of a class", layout, "a file", ""});
  return classes;
}

std::vector<std::string> training_classes(const fs::path& dir, const char* layout) {
  const fs::path part = dir / "train";
  std::vector<std::string> classes = class_folders(part, layout);
  if (classes.size() < 2)
    throw DataError({part.string(), "too few classes", "at least 2 folders", fmt::to_string(classes.size()), ""});
  return classes;
}

std::string test_part(const fs::path& dir) {
  std::error_code error;
  if (!fs::is_directory(dir / "val", error)) return "test";
  for (fs::directory_iterator at(dir / "test", error), end; !error && at != end; at.increment(error))
    if (std::error_code none; at->is_directory(none)) return "test";
  return "val";
}

}  // namespace kb
