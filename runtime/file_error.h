// Errors that tell people which file could not be read or written, and why.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string_view>

namespace kb {

// Throws Error("cannot ACTION PATH: <text of errno>"); of a full disk also how much is free there, and how much was
// needed where `bytes` is not 0.
[[noreturn]] void throw_file_error(std::string_view action, const std::filesystem::path& path, int error_number,
                                   int64_t bytes = 0);

}  // namespace kb
