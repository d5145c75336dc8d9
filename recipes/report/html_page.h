// Self-contained HTML pages, which make no request to a network, are readable on a phone, and are light or dark as the
// reader's system is. Pictures made by Svg follow in their colours. Texts are HTML; names in them must be escaped with
// xml_text (recipes/report/svg.h).
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
  std::optional<double> order = {};  // key by which a script sorts rows; without a finite one it sorts by the words
};

// A table, which scrolls in a box of its own if it is wider than the page.
class HtmlTable {
 public:
  explicit HtmlTable(const std::vector<std::string>& columns)
      : text_(line({columns.begin(), columns.end()}, "th", "")) {}
  // Adds a row. `attributes` are those of its HTML element, for instance `class="pick"`.
  void row(const std::vector<HtmlCell>& cells, std::string_view attributes = "") {
    text_ += line(cells, "td", attributes);
  }
  std::string str() const { return "<div class=\"scroll\"><table>\n" + text_ + "</table></div>\n"; }

 private:
  static std::string line(const std::vector<HtmlCell>& cells, const char* tag, std::string_view attributes);
  std::string text_;
};

// Returns a page. `title` is plain text, `body` is HTML, `script` is JavaScript, without which the page must be usable.
std::string html_page(const std::string& title, const std::string& body, const std::string& script = "");

}  // namespace kb
