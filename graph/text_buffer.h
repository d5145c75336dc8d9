// A text that grows by formatted pieces. fmt's own format_to() would compile fmt's whole formatter in every unit that
// calls it, which takes longer than the rest of most units; here it is compiled once.
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
