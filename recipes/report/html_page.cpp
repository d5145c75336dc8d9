#include "recipes/report/html_page.h"

#include <fmt/format.h>

#include <cmath>

#include "recipes/report/svg.h"

namespace kb {
namespace {

// The style sheet of every page. Its rules for dark mode replace the colours that Svg pictures write as attributes,
// because a rule of CSS has precedence over an attribute.
constexpr const char* kPageStyle = R"(
:root{color-scheme:light dark;--page:#fff;--card:#fff;--ink:#222;--quiet:#555;--line:#ddd;--shade:#f4f5f6;
--good:#00704f;--bad:#b34700}
*{box-sizing:border-box}
body{font:15px/1.45 Helvetica,Arial,'DejaVu Sans',sans-serif;max-width:1200px;margin:0 auto;padding:1em;
color:var(--ink);background:var(--page);-webkit-text-size-adjust:100%}
h1{font-size:1.45em;overflow-wrap:anywhere;margin:.4em 0}h2{font-size:1.15em;margin:1.6em 0 .5em}
p,li{overflow-wrap:anywhere}code{background:var(--shade);padding:.15em .3em;overflow-wrap:anywhere}
.scroll{overflow-x:auto;margin:1em 0}
table{border-collapse:collapse;font-size:.95em;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:.3em .5em;border-bottom:1px solid var(--line);vertical-align:top}
th{font-weight:600;background:var(--shade)}
svg{max-width:100%;height:auto}
summary{cursor:pointer;padding:.35em 0}
.good{color:var(--good)}.bad{color:var(--bad)}.quiet{color:var(--quiet)}
.legend{position:sticky;top:0;z-index:3;display:flex;flex-wrap:wrap;gap:.3em;max-height:6.6em;overflow-y:auto;
padding:.5em 0;background:var(--page);border-bottom:1px solid var(--line)}
.legend button{display:inline-flex;align-items:center;gap:.45em;max-width:100%;font:inherit;font-size:.87em;
color:inherit;background:var(--card);border:1px solid var(--line);border-radius:1em;padding:.2em .7em;cursor:pointer;
text-align:left}
.legend button span{overflow-wrap:anywhere}
.key{flex:none;width:24px;max-width:none;height:10px;vertical-align:middle;margin-right:.5em}.legend .key{margin:0}
.runs td,.runs th{white-space:nowrap}
.runs td:first-child,.runs th:first-child{position:sticky;left:0;z-index:1}
@media(max-width:600px){.runs td:first-child{min-width:30vw;max-width:45vw;white-space:normal;overflow-wrap:anywhere}}
.runs .scroll{max-height:80vh;overflow:auto}.runs th,.runs th:first-child{position:sticky;top:0}
.runs th:first-child{z-index:2}
.runs td:first-child{background:var(--page)}
.runs tr.pick{cursor:pointer}.out{display:none!important}
.filter{display:flex;flex-wrap:wrap;gap:.6em;align-items:baseline}
.filter input{flex:0 1 24em;min-width:0;font:inherit;padding:.3em .6em;color:inherit;background:var(--card);
border:1px solid var(--line);border-radius:.4em}
.sort{all:unset;cursor:pointer}.sort:focus-visible{outline:2px solid var(--ink)}
th[aria-sort] .sort::after{content:" \2193"}th[aria-sort=ascending] .sort::after{content:" \2191"}
.axis{position:absolute;opacity:0}
.axis+label{display:inline-block;border:1px solid var(--line);border-radius:1em;padding:.2em .9em;cursor:pointer}
.axis:checked+label{background:var(--shade);font-weight:600}.axis:focus-visible+label{outline:2px solid var(--ink)}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,420px),1fr));gap:1em;margin:1em 0}
.charts figure{margin:0}.charts svg{width:100%}
#by-epochs:checked~.charts .by-steps,#by-steps:checked~.charts .by-epochs{display:none}
.wide svg{width:100%;min-width:560px;max-width:1040px}
.picking g.run{opacity:.1}.picking g.run.on{opacity:1}.picking g.run.on polyline{stroke-width:2.6}
.picking button.on,.picking tr.on td,.picking tr.on td:first-child{background:var(--shade)}
.picking button.on{outline:2px solid var(--ink);outline-offset:-2px}
@media(prefers-color-scheme:dark){
:root{--page:#111418;--card:#1b2026;--ink:#e3e6ea;--quiet:#a5adb8;--line:#39414b;--shade:#20262d;--good:#4cc79a;
--bad:#f19a5b}
svg [fill="#fff"]{fill:var(--page)}svg [fill="#333"]{fill:var(--ink)}svg [fill="#555"]{fill:var(--quiet)}
svg [stroke="#333"]{stroke:var(--quiet)}svg [stroke="#e4e4e4"]{stroke:#2b323a}
svg [stroke="#000000"]{stroke:#f2f2f2}svg [fill="#000000"]{fill:#f2f2f2}
svg [stroke="#0072b2"]{stroke:#3d9fe0}svg [fill="#0072b2"]{fill:#3d9fe0}
svg [stroke="#8a4f9e"]{stroke:#b884cb}svg [fill="#8a4f9e"]{fill:#b884cb}
svg [stroke="#a0522d"]{stroke:#d08a62}svg [fill="#a0522d"]{fill:#d08a62}}
)";

}  // namespace

std::string HtmlTable::line(const std::vector<HtmlCell>& cells, const char* tag, std::string_view attributes) {
  std::string row = fmt::format("<tr{}{}>", attributes.empty() ? "" : " ", attributes);
  for (const HtmlCell& cell : cells) {
    const bool has_order = cell.order && std::isfinite(*cell.order);
    row += fmt::format("<{0}{1}>{2}</{0}>", tag, has_order ? fmt::format(" data-order=\"{:.17g}\"", *cell.order) : "",
                       cell.html);
  }
  return row + "</tr>\n";
}

std::string html_page(const std::string& title, const std::string& body, const std::string& script) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\"><title>{0}</title><style>{1}</style></head><body>\n"
      "<h1>{0}</h1>\n{2}{3}</body></html>\n",
      xml_text(title), kPageStyle, body, script.empty() ? "" : "<script>" + script + "</script>\n");
}

}  // namespace kb
