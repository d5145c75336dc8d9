// Errors that tell people which file could not be read or written, and why.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "graph/error.h"

namespace kb {

// The system refuses a file that is to be read or written, which says nothing of its content: another time, or for
// another user, it may be there and whole. A file that was read and is damaged is an Error of another kind.
class FileError : public Error {
 public:
  using Error::Error;
};

// Throws FileError("cannot ACTION PATH: <text of errno>"); of a full disk also how much is free there, and how much was
// needed where `bytes` is not 0.
[[noreturn]] void throw_file_error(std::string_view action, const std::filesystem::path& path, int error_number,
                                   int64_t bytes = 0);

}  // namespace kb
