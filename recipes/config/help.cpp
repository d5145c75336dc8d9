#include "recipes/config/help.h"

#include <fmt/format.h>

#include <algorithm>

namespace kb {
namespace {

constexpr size_t kColumns = 80, kDocColumn = 25;

// Returns the text in lines of at most kColumns characters. A line also ends after every ";". All lines but the first
// are indented by `indent` spaces.
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

// Returns the text with "\n" for each line feed, which would break the help's lines.
std::string on_a_line(const std::string& text) {
  std::string result;
  for (const char c : text) result += c == '\n' ? "\\n" : std::string(1, c);
  return result;
}

std::string flag_help(const FlagText& text, const std::string& fallback) {
  const std::string name = "  " + text.name + (text.value.empty() ? "" : " " + text.value);
  const std::string doc = text.doc + (fallback.empty() ? "" : fmt::format(" [{}]", on_a_line(fallback)));
  const std::string gap =
      name.size() + 1 < kDocColumn ? std::string(kDocColumn - name.size(), ' ') : "\n" + std::string(kDocColumn, ' ');
  return name + gap + wrapped(doc, kDocColumn) + "\n";
}

}  // namespace

std::string first_idea(const std::string& doc) {
  static constexpr std::string_view kChoices = "; one of ";
  const size_t choices = doc.rfind(kChoices);
  const std::string first = doc.substr(0, doc.find(';'));
  return choices == std::string::npos ? first : first + ": " + doc.substr(choices + kChoices.size());
}

std::string help_text(const std::string& title, const std::vector<HelpRow>& rows, bool is_dense) {
  std::string text;
  for (size_t at = 0; at < title.size();) {
    const size_t end = std::min(title.find('\n', at), title.size());
    text += wrapped(title.substr(at, end - at), 0) + "\n";
    at = end + 1;
  }
  for (const HelpRow& row : rows) {
    const bool is_first = &row == rows.data();
    if (!row.heading.empty()) text += fmt::format("{}{}\n", is_dense && !is_first ? "" : "\n", row.heading);
    text += flag_help(row.flag, row.fallback);
  }
  return text;
}

}  // namespace kb
