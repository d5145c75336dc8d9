#include "recipes/study/report_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "recipes/perf/memory_answer.h"
#include "recipes/report/curve_chart.h"
#include "recipes/report/heat_map.h"
#include "recipes/report/html_page.h"
#include "recipes/report/run_charts.h"

namespace kb {
namespace {

// A run is picked out by resting on its name, or kept picked by a tap: curves of the others fade.
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

std::string flag_of(const ReportedRun& run, const std::string& name) {
  for (const auto& [flag, value] : run.flags)
    if (flag == name) return value;
  return "-";
}

std::vector<std::string> all_flags(const std::vector<ReportedRun>& runs) {
  std::vector<std::string> names;
  std::set<std::string> known;
  for (const ReportedRun& run : runs)
    for (const auto& [name, value] : run.flags)
      if (known.insert(name).second) names.push_back(name);
  return names;
}

bool differs(const std::vector<ReportedRun>& runs, const std::string& flag) {
  const std::string first = flag_of(runs.front(), flag);
  return std::any_of(runs.begin(), runs.end(), [&](const ReportedRun& run) { return flag_of(run, flag) != first; });
}

// A piece of the line that the run has in the charts.
std::string key_of(size_t number) {
  const Svg::Stroke stroke = numbered_stroke(number);
  return fmt::format(
      R"(<svg class="key" viewBox="0 0 24 10"><line x1="0" y1="5" x2="24" y2="5" stroke="{}" stroke-width="3"{}/></svg>)",
      stroke.color, stroke.dashes.empty() ? "" : fmt::format(R"( stroke-dasharray="{}")", stroke.dashes));
}

std::string picked_by(size_t number) { return fmt::format(R"(class="pick" data-run="{}")", number); }

std::string legend(const std::vector<ReportedRun>& runs) {
  std::string html = "<div class=\"legend\">";
  for (size_t i = 0; i < runs.size(); ++i)
    html += fmt::format(R"(<button type="button" {}>{}<span>{}</span></button>)", picked_by(i), key_of(i),
                        xml_text(runs[i].name));
  return html + "</div>\n";
}

std::string number_text(double value) { return std::isfinite(value) ? fmt::format("{:.4g}", value) : "-"; }

std::string rate_text(double value) {
  return std::isfinite(value) ? fmt::format("{:.{}f}", value, value < 100 ? 1 : 0) : "-";
}

std::string milliseconds(double value) { return std::isfinite(value) ? fmt::format("{:.2g} ms", value) : "-"; }

std::string goal_figure(const RunReport& run, double value) {
  return std::isfinite(value) ? Figure{run.goal, value, run.goal_kind}.text() : "-";
}

// "3.70 % (epoch 4)".
std::string best_figure(const RunReport& run) {
  const EvaluationPoint* best = nullptr;
  for (const EvaluationPoint& point : run.evaluations)
    if (std::isfinite(point.goal) &&
        (!best || (run.goal_kind.higher_is_better ? point.goal > best->goal : point.goal < best->goal)))
      best = &point;
  return best ? fmt::format("{} (epoch {:.4g})", goal_figure(run, best->goal), best->epoch) : "-";
}

std::string ending(const ReportedRun& reported) {
  const RunReport& run = reported.run;
  const std::string how = run.how == "--stop-at" ? "stopped by --stop-at" : run.how;
  if (run.how.empty())
    return fmt::format(R"(<span class="quiet">not ended: {} of {} steps</span>)", reported.done_steps,
                       reported.planned_steps);
  if (!run.diverged) return xml_text(how);
  return fmt::format(R"(<b class="bad"{}>{}</b>)",
                     reported.reason.empty() ? "" : fmt::format(" title=\"{}\"", xml_text(reported.reason)),
                     xml_text(run.how == "diverged" ? how : how + ", diverged"));
}

std::string memory_text(int64_t bytes) { return bytes > 0 ? bytes_text(bytes) : "-"; }

std::string time_of(double seconds) {
  if (!std::isfinite(seconds)) return "-";
  return seconds < 600 ? fmt::format("{:.0f} s", seconds) : fmt::format("{:.0f} min", seconds / 60);
}

// "test error" where all runs have it; "test error or valid loss".
template <class NameOf>
std::string common_name(const std::vector<ReportedRun>& runs, const NameOf& name_of) {
  std::vector<std::string> names;
  for (const ReportedRun& run : runs)
    if (std::find(names.begin(), names.end(), name_of(run)) == names.end()) names.push_back(name_of(run));
  return xml_text(fmt::format("{}", fmt::join(names, " or ")));
}

std::string results_of(const std::vector<ReportedRun>& runs) {
  std::vector<std::string> columns = {"run"};
  const std::vector<std::string> flags = differing_flags(runs);
  for (const std::string& flag : flags) columns.push_back(xml_text(flag));
  columns.insert(columns.end(),
                 {"ended", common_name(runs, [](const ReportedRun& r) { return r.run.goal; }) + " at the end",
                  "best " + common_name(runs, [](const ReportedRun& r) { return r.run.part + " " + r.run.goal; }),
                  "training loss", "steps", "samples/s", "wait for data a step", "memory", "programs", "time"});
  HtmlTable table(columns);
  for (size_t i = 0; i < runs.size(); ++i) {
    const ReportedRun& r = runs[i];
    std::vector<std::string> cells = {key_of(i) + xml_text(r.name)};
    for (const std::string& flag : flags) cells.push_back(xml_text(flag_of(r, flag)));
    const double train_loss = r.run.evaluations.empty() ? NAN : r.run.evaluations.back().train_loss;
    cells.insert(cells.end(), {ending(r), goal_figure(r.run, r.run.result), best_figure(r.run), number_text(train_loss),
                               std::to_string(r.done_steps), rate_text(r.samples_per_s), milliseconds(r.data_wait_ms),
                               memory_text(r.process_bytes), memory_text(r.program_bytes), time_of(r.run.seconds)});
    table.row(cells, picked_by(i));
  }
  return "<h2>Results</h2>\n<div class=\"runs\">" + table.str() + "</div>\n" +
         "<p class=\"quiet\">The training loss is the mean since the evaluation before; samples/s and the wait for "
         "data "
         "are medians over the steps; memory is what the process took at most, or will take where it has not ended; "
         "the time is that of the process that ended the run.</p>\n";
}

std::string curves_section(const std::vector<ReportedRun>& runs) {
  std::vector<ChartedRun> charted;
  for (const ReportedRun& run : runs) charted.push_back({run.name, run.run.part, run.curves});
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
      "<p class=\"quiet\">Curves of steps are means over a hundredth of the steps; of those {} columns keep the first "
      "and the last point, the least and the greatest. A run whose greatest value is more than {:g} times the "
      "median of the runs' greatest leaves its chart at the top.</p>\n",
      figures, kChartColumns, kFarRatio);
}

std::string trust_section(const std::vector<ReportedRun>& runs) {
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
                        html.empty() ? " open" : "", key_of(i), xml_text(runs[i].name), map);
  }
  if (html.empty()) return "";
  return "<h2>Trust ratios of layers</h2>\n<p class=\"quiet\">What the learning rate of each layer is multiplied by, "
         "from the first layer (top) to the last, over the steps (--log-layers).</p>\n" +
         html;
}

std::string common_flags(const std::vector<ReportedRun>& runs) {
  HtmlTable table({"flag", "value"});
  for (const std::string& flag : all_flags(runs))
    if (!differs(runs, flag)) table.row({xml_text(flag), xml_text(flag_of(runs.front(), flag))});
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

std::vector<std::string> differing_flags(const std::vector<ReportedRun>& runs) {
  std::vector<std::string> names = all_flags(runs);
  std::erase_if(names, [&](const std::string& name) { return !differs(runs, name); });
  return names;
}

std::string report_page(const ReportedRuns& reported) {
  const std::vector<ReportedRun>& runs = reported.runs;
  const std::string recipes = fmt::format("{}", fmt::join(
                                                    [&] {
                                                      std::set<std::string> names;
                                                      for (const ReportedRun& run : runs) names.insert(run.run.recipe);
                                                      return names;
                                                    }(),
                                                    ", "));
  const std::string title = runs.size() == 1 ? fmt::format("{}: {}", recipes, runs[0].name)
                                             : fmt::format("{}: {} runs", recipes, runs.size());
  return html_page(title,
                   legend(runs) + results_of(runs) + curves_section(runs) + trust_section(runs) + common_flags(runs) +
                       left_out_section(reported.left_out),
                   kPickingScript);
}

}  // namespace kb
