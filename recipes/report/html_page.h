// HTML pages that need nothing else: no request to a network, readable on a phone, light or dark as the reader's system
// is. Pictures of Svg take the page's colours. Texts are HTML: escape names by xml_text (recipes/report/svg.h).
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kb {

struct HtmlCell {
  HtmlCell(const char* words) : html(words) {}
  HtmlCell(std::string words) : html(std::move(words)) {}
  HtmlCell(std::string words, std::optional<double> place) : html(std::move(words)), order(place) {}

  std::string html;
  std::optional<double> order = {};  // by which a script sorts rows; nothing, or not finite: by the words
};

// A table that scrolls in a box of its own where it is wider than the page.
class HtmlTable {
 public:
  explicit HtmlTable(const std::vector<std::string>& columns)
      : text_(line({columns.begin(), columns.end()}, "th", "")) {}
  // `attributes`: of the row, as in `class="pick"`.
  void row(const std::vector<HtmlCell>& cells, std::string_view attributes = "") {
    text_ += line(cells, "td", attributes);
  }
  std::string str() const { return "<div class=\"scroll\"><table>\n" + text_ + "</table></div>\n"; }

 private:
  static std::string line(const std::vector<HtmlCell>& cells, const char* tag, std::string_view attributes);
  std::string text_;
};

// `title` is plain text. `script`: JavaScript; the page has to be of use without it.
std::string html_page(const std::string& title, const std::string& body, const std::string& script = "");

}  // namespace kb
