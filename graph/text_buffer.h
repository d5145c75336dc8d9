// A text that grows by formatted pieces.
#pragma once
#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace kb {

using TextBuffer = fmt::memory_buffer;

template <class... Args>
void put(TextBuffer& out, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
}

}  // namespace kb
