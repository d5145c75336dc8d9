#include "recipes/orders/line_error.h"

#include <fmt/format.h>

#include "graph/error.h"

namespace kb {

void refuse_line(const std::filesystem::path& path, int64_t line, const std::string& expected, const std::string& got,
                 const std::string& hint) {
  throw Error(fmt::format("{}: line {}\n  expected: {}\n  got:      {}{}{}", path.string(), line, expected, got,
                          hint.empty() ? "" : "\n  hint:     ", hint));
}

std::string in_quotes(std::string_view text) {
  constexpr size_t kShown = 60;
  std::string shown(text.substr(0, kShown));
  for (char& c : shown)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
  return fmt::format("'{}{}'", shown, text.size() > kShown ? "..." : "");
}

}  // namespace kb
