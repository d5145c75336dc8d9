#include "data/sets/find_file.h"

#include <fmt/format.h>

#include "data/error.h"

namespace kb {
namespace fs = std::filesystem;
namespace {

/// Returns the paths at which `file` may lie, in the order of search.
std::vector<fs::path> candidates(const FileSearch& search, const fs::path& dir, const std::string& file) {
  std::vector<fs::path> folders = {dir}, out;
  for (const std::string& folder : search.folders) folders.push_back(dir / folder);
  for (const fs::path& folder : folders) {
    for (const char* suffix : {"", ".gz"}) out.push_back(folder / (file + suffix));
  }
  return out;
}

// Returns how to get the file, the shortest way first.
std::string hint_of(const FileSearch& search, const fs::path& dir) {
  if (!search.is_fetched) return search.by_hand;
  const std::string get = dir.empty() ? "" : " " + dir.string();
  return fmt::format("./run get {}{} fetches the set; by hand: {}", search.set, get, search.by_hand);
}

}  // namespace

fs::path find_data_file(const FileSearch& search, const fs::path& dir, const std::string& file) {
  if (dir.empty())
    throw DataError({search.set, "no data directory was given", fmt::format("the directory that holds {}[.gz]", file),
                     "none", hint_of(search, dir) + " and name it: --data DIR, or the environment variable KB_DATA"});
  const std::vector<fs::path> places = candidates(search, dir, file);
  for (const fs::path& place : places) {
    std::error_code ignored;
    const fs::file_type type = fs::status(place, ignored).type();
    // A FIFO, a device or a loop of links is refused later, when it is read. Some tools unpack into a folder of the
    // file's name.
    if (type != fs::file_type::not_found && type != fs::file_type::directory) return place;
  }
  std::string looked;
  for (const fs::path& place : places) looked += (looked.empty() ? "" : "\n            ") + place.string();
  std::error_code ignored;
  throw DataError({search.set, fmt::format("{} is missing", file), "one of " + looked,
                   fs::is_directory(dir, ignored) ? "none of them" : fmt::format("{} is not a directory", dir.string()),
                   hint_of(search, dir)});
}

}  // namespace kb
