// A text that grows by formatted pieces. fmt's own format_to() compiles all of its formatter into each unit that calls
// it, for longer than the rest of most units takes: here that happens once.
#pragma once
#include <fmt/format.h>

#include <string>
#include <utility>

namespace kb {

using TextBuffer = fmt::memory_buffer;

void append_format(TextBuffer& out, fmt::string_view format, fmt::format_args args);
void append_format(std::string& out, fmt::string_view format, fmt::format_args args);

// Appends to a TextBuffer or a std::string.
template <class Buffer, class... Args>
void put(Buffer& out, fmt::format_string<Args...> format, Args&&... args) {
  append_format(out, format, fmt::make_format_args(args...));
}

}  // namespace kb
