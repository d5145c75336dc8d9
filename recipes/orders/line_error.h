// Errors about a line of a file that a person or a program wrote.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace kb {

// Throws Error, which names the file, the line (from 1), what was expected and what was found; `hint` may be empty.
[[noreturn]] void refuse_line(const std::filesystem::path& path, int64_t line, const std::string& expected,
                              const std::string& got, const std::string& hint = "");

// Returns a text in quotes for such an error: at most 60 bytes of it, with '?' in place of control characters.
std::string in_quotes(std::string_view text);

}  // namespace kb
