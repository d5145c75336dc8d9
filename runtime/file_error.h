// Errors that say which file could not be read or written, and why.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "graph/error.h"

namespace kb {

// The system refuses to read or write a file. That says nothing of its content: at another time, or for another user,
// it may be there and whole. For a file that was read and is damaged, Error is thrown and not this class.
class FileError : public Error {
 public:
  using Error::Error;
};

// Throws FileError("cannot ACTION PATH: <text of errno>"). For a full disk the text also says how much is free and, if
// `bytes` is not 0, how much is needed.
[[noreturn]] void throw_file_error(std::string_view action, const std::filesystem::path& path, int error_number,
                                   int64_t bytes = 0);

// Makes a folder, and those above it, unless it is there. Throws Error that begins with `who`, "--out: ", if it cannot.
void make_folder(const std::filesystem::path& folder, std::string_view who = "");

}  // namespace kb
