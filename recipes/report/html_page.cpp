#include "recipes/report/html_page.h"

#include <fmt/format.h>

#include "recipes/report/svg.h"

namespace kb {
namespace {

constexpr const char* kPageStyle =
    "body{font:15px/1.45 Helvetica,Arial,'DejaVu Sans',sans-serif;max-width:1080px;margin:0 auto;padding:1em;"
    "color:#222}h1{font-size:1.45em;overflow-wrap:anywhere}h2{font-size:1.15em}"
    ".scroll{overflow-x:auto;margin:1em 0}table{border-collapse:collapse}"
    "th,td{text-align:left;padding:.3em .7em;border-bottom:1px solid #ddd;vertical-align:top}"
    "th{font-weight:600;background:#f5f5f5}code{background:#f5f5f5;padding:.15em .3em;overflow-wrap:anywhere}"
    "svg{max-width:100%;height:auto}"
    ".charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,420px),1fr));gap:1em;margin:1em 0}"
    ".charts figure{margin:0}.charts svg{width:100%}";

}  // namespace

std::string HtmlTable::line(const std::vector<std::string>& cells, const char* tag) {
  std::string row = "<tr>";
  for (const std::string& cell : cells) row += fmt::format("<{0}>{1}</{0}>", tag, cell);
  return row + "</tr>\n";
}

std::string html_page(const std::string& title, const std::string& body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\"><title>{0}</title><style>{1}</style></head><body>\n"
      "<h1>{0}</h1>\n{2}</body></html>\n",
      xml_text(title), kPageStyle, body);
}

}  // namespace kb
