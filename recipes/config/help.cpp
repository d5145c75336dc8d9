#include "recipes/config/help.h"

#include <fmt/format.h>

#include "recipes/config/flag_rows.h"

namespace kb {
namespace {

constexpr size_t kColumns = 80, kDocColumn = 25;

// Begins a line behind every ";" and where the next word would not fit; later lines stand under the first one's text.
std::string wrapped(const std::string& text, size_t indent) {
  std::string lines;
  size_t column = indent;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    const bool is_first = column == indent;
    if (!is_first && column + 1 + word.size() > kColumns) {
      lines += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (!is_first) {
      lines += ' ';
      ++column;
    }
    lines += word;
    column += word.size();
    if (word.ends_with(';')) column = kColumns;
    at = std::min(text.find_first_not_of(' ', end), text.size());
  }
  return lines;
}

std::string flag_help(const FlagText& text, const std::string& fallback) {
  const std::string name = "  " + text.name + (text.value.empty() ? "" : " " + text.value);
  const std::string doc = text.doc + (fallback.empty() ? "" : fmt::format(" [{}]", fallback));
  const std::string gap =
      name.size() + 1 < kDocColumn ? std::string(kDocColumn - name.size(), ' ') : "\n" + std::string(kDocColumn, ' ');
  return name + gap + wrapped(doc, kDocColumn) + "\n";
}

}  // namespace

std::string help_text(const Recipe& recipe, const std::string& usage, const std::vector<ToolSwitch>& switches) {
  const Flags defaults = default_flags(recipe);
  std::string text =
      fmt::format("{}\n{}\n\nusage: {} [flags]        [default]\n",
                  wrapped(fmt::format("{}: {}", recipe.name, recipe.summary), 0), wrapped(recipe.paper, 0), usage);
  if (!switches.empty()) text += "\nThis tool\n";
  for (const ToolSwitch& item : switches) text += flag_help(item.text, "");
  for (const FlagRow& row : flag_table(recipe)) {
    if (!row.heading.empty()) text += fmt::format("\n{}\n", row.heading);
    text += flag_help(row.text, row.text.value.empty() ? "" : row.print(defaults));
  }
  return text + flag_help({"--help", "", "this text"}, "");
}

}  // namespace kb
