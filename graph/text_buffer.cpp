#include "graph/text_buffer.h"

#include <iterator>

namespace kb {

void append_format(TextBuffer& out, fmt::string_view format, fmt::format_args args) {
  fmt::vformat_to(std::back_inserter(out), format, args);
}

void append_format(std::string& out, fmt::string_view format, fmt::format_args args) {
  out += fmt::vformat(format, args);
}

}  // namespace kb
