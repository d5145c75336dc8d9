// The search for the files of a data set. They lie in the directory that was named or in a folder of the set's own
// below it, plain or gzip.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace kb {

struct FileSearch {
  std::string set;                   ///< the data set's name
  std::vector<std::string> folders;  ///< below the directory, searched behind it
  bool is_fetched = false;           ///< ./run get SET fetches it; the error for a missing file says so
  std::string by_hand;               ///< how a person gets the file: "fetch URL into that directory"
};

/// The first of DIR/file, DIR/file.gz, DIR/FOLDER/file, DIR/FOLDER/file.gz ... that is there. Throws DataError with
/// every path that was looked for, or where `dir` is empty.
std::filesystem::path find_data_file(const FileSearch& search, const std::filesystem::path& dir,
                                     const std::string& file);

}  // namespace kb
