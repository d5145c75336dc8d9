// HTML pages that need nothing else: no file beside them, no request to a network, readable on a phone. Texts are HTML:
// escape names by xml_text() (recipes/report/svg.h).
#pragma once
#include <string>
#include <vector>

namespace kb {

// A table that scrolls in a box of its own where it is wider than the page.
class HtmlTable {
 public:
  explicit HtmlTable(const std::vector<std::string>& columns) : text_(line(columns, "th")) {}
  void row(const std::vector<std::string>& cells) { text_ += line(cells, "td"); }
  std::string str() const { return "<div class=\"scroll\"><table>\n" + text_ + "</table></div>\n"; }

 private:
  static std::string line(const std::vector<std::string>& cells, const char* tag);
  std::string text_;
};

// `title` is plain text. Of the body's classes "scroll" is a box that moves sideways, "charts" one of figures beside
// each other where there is room.
std::string html_page(const std::string& title, const std::string& body);

}  // namespace kb
