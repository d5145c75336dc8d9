#include "data/class_folders.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "data/error.h"

namespace kb {
namespace fs = std::filesystem;
namespace {

bool is_image_name(const std::string& name) {
  std::string end = fs::path(name).extension().string();
  std::transform(end.begin(), end.end(), end.begin(), [](unsigned char c) { return std::tolower(c); });
  return end == ".jpg" || end == ".jpeg" || end == ".png" || end == ".ppm" || end == ".pgm";
}

}  // namespace

std::string passed_over_note(const PassedOver& files) {
  constexpr size_t kNamed = 3;
  if (files.empty()) return "";
  std::string names;
  for (size_t i = 0; i < std::min(files.size(), kNamed); ++i) names += (i == 0 ? "" : ", ") + files[i].string();
  return fmt::format("NOTE: {} not end in {} and {} passed over: {}{}",
                     files.size() == 1 ? "1 file does" : fmt::format("{} files do", files.size()), kImageEndings,
                     files.size() == 1 ? "is" : "are", names, files.size() > kNamed ? ", ..." : "");
}

std::vector<std::string> names_in(const fs::path& folder, const char* layout) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (std::string name = at->path().filename().string(); !name.starts_with(".")) names.push_back(std::move(name));
  if (error) throw DataError({folder.string(), "cannot be read", layout, error.message(), ""});
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> class_folders(const fs::path& part, const char* layout, PassedOver& passed) {
  std::vector<std::string> classes;
  std::error_code error;
  for (std::string& name : names_in(part, layout)) {
    const fs::path path = part / name;
    if (fs::is_directory(path, error))
      classes.push_back(std::move(name));
    else if (fs::is_regular_file(path, error))
      passed.push_back(path);
    else
      throw DataError({path.string(), "is not the folder of a class", layout, "neither a folder nor a file", ""});
  }
  return classes;
}

std::vector<std::string> images_of_class(const fs::path& folder, const char* layout, PassedOver& passed) {
  std::vector<std::string> images;
  std::error_code error;
  for (std::string& name : names_in(folder, layout)) {
    const fs::path path = folder / name;
    if (is_image_name(name))
      images.push_back(std::move(name));
    else if (!fs::is_directory(path, error))
      passed.push_back(path);
    else
      throw DataError({path.string(), "a folder within a class", layout, "a folder",
                       "classes lie one folder deep: move its images up, or the folder elsewhere"});
  }
  if (images.empty())
    throw DataError({folder.string(), "a class without images", layout, "",
                     fmt::format("files count that end in {}", kImageEndings)});
  return images;
}

std::vector<std::string> training_classes(const fs::path& dir, const char* layout, PassedOver& passed) {
  const fs::path part = dir / "train";
  std::vector<std::string> classes = class_folders(part, layout, passed);
  if (classes.size() < 2)
    throw DataError({part.string(), "too few classes", "at least 2 folders", fmt::to_string(classes.size()), ""});
  return classes;
}

std::string test_part(const fs::path& dir) {
  std::error_code error;
  if (!fs::is_directory(dir / "val", error)) return fs::is_directory(dir / "test", error) ? "test" : "";
  for (fs::directory_iterator at(dir / "test", error), end; !error && at != end; at.increment(error))
    if (std::error_code none; at->is_directory(none)) return "test";
  return "val";
}

}  // namespace kb
