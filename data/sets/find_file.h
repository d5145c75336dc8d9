// The search for the files of a data set. They lie in the directory that the user names, or in a folder of the set in
// it, plain or gzip.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace kb {

struct FileSearch {
  std::string set;                   ///< the data set's name
  std::vector<std::string> folders;  ///< folders in that directory, searched after it
  bool is_fetched = false;           ///< true: ./run get SET fetches the set, and the error for a missing file says so
  std::string by_hand;               ///< how a person gets the file: "fetch URL into that directory"
};

/// Returns the first of DIR/file, DIR/file.gz, DIR/FOLDER/file, DIR/FOLDER/file.gz and so on that exists. Throws
/// DataError, which lists the paths, when none does, and when `dir` is empty.
std::filesystem::path find_data_file(const FileSearch& search, const std::filesystem::path& dir,
                                     const std::string& file);

}  // namespace kb
