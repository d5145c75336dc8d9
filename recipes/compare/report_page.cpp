#include "recipes/compare/report_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "recipes/charts/heat_map.h"
#include "recipes/charts/run_charts.h"
#include "recipes/compare/report_table.h"
#include "recipes/report/html_page.h"
#include "recipes/report/svg.h"

namespace kb {
namespace {

// Fades the curves of all lines but one while the pointer rests on its name or on one of its runs. A tap there keeps
// the others faded until the next tap.
constexpr const char* kPickingScript = R"(
(() => {
  let kept = null;
  const show = run => {
    document.documentElement.classList.toggle('picking', run !== null);
    for (const part of document.querySelectorAll('[data-run]')) part.classList.toggle('on', part.dataset.run === run);
  };
  for (const pick of document.querySelectorAll('.pick')) {
    const run = pick.dataset.run;
    pick.addEventListener('pointerenter', () => show(run));
    pick.addEventListener('pointerleave', () => show(kept));
    pick.addEventListener('click', () => { kept = kept === run ? null : run; show(kept); });
  }
})();
)";

// Sorts the table of several runs at a tap on a column's name, the other way round at a second tap, with cells without
// a value last. Filters it by words, or by comparisons with the first column that has the name, or else contains it.
// Lines whose runs are all filtered out leave the legend and the charts, too.
constexpr const char* kTableScript = R"(
(() => {
  const table = document.querySelector('.runs table');
  if (!table) return;
  const [head, ...rows] = table.rows;
  if (rows.length < 2) return;
  const names = [...head.cells].map(cell => cell.textContent.trim().toLowerCase());
  const words = cell => cell.textContent.trim();
  const order = cell => 'order' in cell.dataset ? Number(cell.dataset.order) : NaN;
  const before = (a, b) => {
    if (words(a) === '-' || words(b) === '-') return null;
    const by = order(a) - order(b);
    return Number.isNaN(by) ? words(a).localeCompare(words(b), 'en', {numeric: true}) : by;
  };
  const sort = (at, up) => {
    rows.sort((a, b) => {
      const by = before(a.cells[at], b.cells[at]);
      return by === null ? (words(a.cells[at]) === '-') - (words(b.cells[at]) === '-') : up ? by : -by;
    });
    for (const row of rows) table.tBodies[0].append(row);
    for (const cell of head.cells) cell.removeAttribute('aria-sort');
    head.cells[at].setAttribute('aria-sort', up ? 'ascending' : 'descending');
  };
  [...head.cells].forEach((cell, at) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'sort';
    button.append(...cell.childNodes);
    cell.append(button);
    button.addEventListener('click', () => sort(at, cell.getAttribute('aria-sort') !== 'ascending'));
  });
  const compare = {'<': by => by < 0, '>': by => by > 0, '=': by => by === 0, '<=': by => by <= 0, '>=': by => by >= 0};
  const holds = (row, word) => {
    const [, name, how, value] = word.match(/^(.+?)(<=|>=|<|>|=)(.+)$/) || [];
    const at = !name ? -1 : names.includes(name) ? names.indexOf(name) : names.findIndex(one => one.includes(name));
    if (at < 0) return row.textContent.toLowerCase().includes(word);
    const cell = row.cells[at], by = order(cell) - parseFloat(value);
    return Number.isNaN(by) ? how === '=' && words(cell).toLowerCase() === value : compare[how](by);
  };
  const input = document.createElement('input'), count = document.createElement('span');
  input.type = 'search';
  input.placeholder = 'filter: words, or minibatch>=64 error<5';
  input.setAttribute('aria-label', 'filter runs');
  count.className = 'quiet';
  input.addEventListener('input', () => {
    const asked = input.value.toLowerCase().split(/\s+/).filter(word => word);
    const left = rows.filter(row => asked.every(word => holds(row, word))), lines = new Set(left.map(row => row.dataset.run));
    for (const part of document.querySelectorAll('[data-run]')) part.classList.toggle('out', !lines.has(part.dataset.run));
    for (const row of rows) row.classList.toggle('out', !left.includes(row));
    count.textContent = left.length < rows.length ? `${left.length} of ${rows.length} runs` : '';
  });
  const place = document.createElement('div');
  place.className = 'filter';
  place.append(input, count);
  table.closest('.runs').before(place);
})();
)";

std::string legend(const std::vector<SeedLine>& lines) {
  std::string html = "<div class=\"legend\">";
  for (size_t i = 0; i < lines.size(); ++i)
    html += fmt::format(R"(<button type="button" {}>{}<span>{}</span></button>)", picked_by(i), key_of(i),
                        xml_text(lines[i].name));
  return html + "</div>\n";
}

std::string results_section(const std::vector<ReportedRun>& runs, const std::vector<SeedLine>& lines) {
  return "<h2>Results</h2>\n<div class=\"runs\">" + results_table(runs, line_numbers(lines)) + "</div>\n" +
         "<p class=\"quiet\">Final and best are states of the run: the last one, or the last so far, and the best by "
         "the part of the data that it was judged on. The training loss is the mean since the evaluation before; "
         "samples/s and the wait for data are medians over the steps; memory is what the process took at most, or will "
         "take where it has not ended; the time is that of the process that ended the run.</p>\n";
}

std::string curves_section(const std::vector<ReportedRun>& runs, const std::vector<SeedLine>& lines) {
  std::vector<ChartedLine> charted;
  for (const SeedLine& line : lines) {
    charted.push_back({line.name, {}});
    for (const size_t run : line.runs) charted.back().seeds.push_back(runs[run].curves);
  }
  std::string figures;
  for (const RunChart& chart : run_charts(charted))
    figures += fmt::format("<figure class=\"by-epochs\">{}</figure><figure class=\"by-steps\">{}</figure>\n",
                           chart.by_epochs, chart.by_steps);
  if (figures.empty()) return "";
  return fmt::format(
      "<h2>Curves</h2>\n"
      R"(<input class="axis" type="radio" name="axis" id="by-epochs" checked><label for="by-epochs">over epochs</label> )"
      R"(<input class="axis" type="radio" name="axis" id="by-steps"><label for="by-steps">over steps</label>)"
      "\n<div class=\"charts\">\n{}</div>\n"
      "<p class=\"quiet\">Runs that differ by their seeds alone are one line: the mean of those that have come as far, "
      "in "
      "a band from the least to the greatest. Curves of steps are means over a hundredth of the steps; of those {} "
      "columns keep the first "
      "and the last point, the least and the greatest. Samples/s and waits are medians over a {}th of the steps; of "
      "more "
      "than {} lines they are a row a line: its median, and the range that nine tenths of its steps lie in. A line "
      "whose greatest value is more than {:g} times the median of the lines' greatest leaves its chart at the "
      "top.</p>\n",
      figures, kChartColumns, kMedians, kFewRuns, kFarRatio);
}

std::string trust_section(const std::vector<ReportedRun>& runs, const std::vector<size_t>& lines) {
  const auto logged = static_cast<size_t>(
      std::count_if(runs.begin(), runs.end(), [](const ReportedRun& run) { return !run.norms.empty(); }));
  std::string html;
  for (size_t i = 0; i < runs.size(); ++i) {
    std::vector<HeatColumn> columns;
    for (const LayerNorms& norms : runs[i].norms)
      if (!norms.trust.empty()) columns.push_back({norms.step, norms.trust});
    if (columns.empty()) continue;
    const std::string map = heat_map(runs[i].layers, columns, std::min(kTrustCellsOfRun, kTrustCells / logged));
    if (map.empty()) continue;
    html += fmt::format("<details{}><summary>{}{}</summary><div class=\"scroll wide\">{}</div></details>\n",
                        html.empty() ? " open" : "", key_of(lines[i]), xml_text(runs[i].name), map);
  }
  if (html.empty()) return "";
  return "<h2>Trust ratios of layers</h2>\n<p class=\"quiet\">What the learning rate of each layer is multiplied by, "
         "from the first layer (top) to the last, over the steps (--log-layers).</p>\n" +
         html;
}

std::string common_flags(const std::vector<ReportedRun>& runs) {
  HtmlTable table({"flag", "value"});
  const std::vector<std::string> differing = differing_flags(runs);
  for (const std::string& flag : all_flags(runs))
    if (std::find(differing.begin(), differing.end(), flag) == differing.end())
      table.row({xml_text(flag), xml_text(flag_of(runs.front(), flag))});
  return fmt::format("<h2>Flags</h2>\n<details><summary>{}</summary>{}</details>\n",
                     runs.size() == 1 ? "flags of the run" : "flags that all runs have in common", table.str());
}

std::string left_out_section(const std::vector<std::string>& left_out) {
  if (left_out.empty()) return "";
  std::string html = "<h2>Left out</h2>\n<ul>\n";
  for (const std::string& line : left_out) html += "<li class=\"bad\">" + xml_text(line) + "</li>\n";
  return html + "</ul>\n";
}

}  // namespace

std::string report_page(const ReportedRuns& reported) {
  const std::vector<ReportedRun>& runs = reported.runs;
  std::set<std::string> recipes;
  for (const ReportedRun& run : runs) recipes.insert(run.run.recipe);
  const std::string title = fmt::format("{}: {}", fmt::join(recipes, ", "),
                                        runs.size() == 1 ? runs[0].name : fmt::format("{} runs", runs.size()));
  const std::vector<SeedLine> lines = seed_lines(runs);
  return html_page(title,
                   legend(lines) + results_section(runs, lines) + curves_section(runs, lines) +
                       trust_section(runs, line_numbers(lines)) + common_flags(runs) +
                       left_out_section(reported.left_out),
                   std::string(kPickingScript) + kTableScript);
}

}  // namespace kb
