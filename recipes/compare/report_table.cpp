#include "recipes/compare/report_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "graph/parsed_number.h"
#include "recipes/perf/memory_answer.h"
#include "recipes/report/curve_chart.h"
#include "recipes/report/html_page.h"

namespace kb {
namespace {

bool differs(const std::vector<ReportedRun>& runs, const std::string& flag) {
  const std::string first = flag_of(runs.front(), flag);
  return std::any_of(runs.begin(), runs.end(), [&](const ReportedRun& run) { return flag_of(run, flag) != first; });
}

HtmlCell cell_of(double value, const std::string& words) { return std::isfinite(value) ? HtmlCell(words, value) : "-"; }

HtmlCell number_cell(double value) { return cell_of(value, fmt::format("{:.4g}", value)); }

HtmlCell rate_cell(double value) { return cell_of(value, fmt::format("{:.{}f}", value, value < 100 ? 1 : 0)); }

HtmlCell wait_cell(double value) {
  return cell_of(value, value < 10 ? fmt::format("{:.2g} ms", value) : fmt::format("{:.0f} ms", value));
}

HtmlCell memory_cell(int64_t bytes) {
  return bytes > 0 ? HtmlCell(bytes_text(bytes), static_cast<double>(bytes)) : "-";
}

HtmlCell time_cell(double seconds) {
  return cell_of(seconds, seconds < 600 ? fmt::format("{:.0f} s", seconds) : fmt::format("{:.0f} min", seconds / 60));
}

HtmlCell flag_cell(const std::string& value) { return {xml_text(value), parsed_number<double>(value)}; }

std::string ending(const ReportedRun& reported) {
  const RunReport& run = reported.run;
  if (reported.is_hopeless)
    return fmt::format(R"(<span class="quiet">hopeless: stopped after {} steps</span>)", reported.done_steps);
  const std::string how = run.how == "--stop-at" ? "stopped by --stop-at" : run.how;
  if (run.how.empty())
    return fmt::format(R"(<span class="quiet">not ended: {} of {} steps</span>)", reported.done_steps,
                       reported.planned_steps);
  if (!run.diverged) return xml_text(how);
  return fmt::format(R"(<b class="bad"{}>{}</b>)",
                     reported.reason.empty() ? "" : fmt::format(" title=\"{}\"", xml_text(reported.reason)),
                     xml_text(run.how == "diverged" ? how : how + ", diverged"));
}

// A column of the table: the metric of the final or the best state on a part of the data.
struct FigureColumn {
  std::string part, metric;
  bool is_best = false;

  auto operator<=>(const FigureColumn&) const = default;
  std::string title() const { return fmt::format("{} {}, {}", part, metric, is_best ? "best" : "final"); }
};

struct RunFigure {
  double value = NAN;
  std::optional<double> epoch = {};  // epochs done at the best state, on the part that it was chosen by
};
using RunFigures = std::map<FigureColumn, RunFigure>;

void take_best(const ReportedRun& reported, RunFigures& figures) {
  const RunReport& run = reported.run;
  const EvaluationPoint* best = nullptr;
  for (const EvaluationPoint& point : run.evaluations)
    if (std::isfinite(point.goal) &&
        (!best || (run.goal_kind.higher_is_better ? point.goal > best->goal : point.goal < best->goal)))
      best = &point;
  if (best) figures[{run.part, run.goal, true}] = {best->goal, best->epoch};
}

// Returns the figures of the run's evaluations; figures of its end from the manifest replace those of the same column.
RunFigures figures_of(const ReportedRun& reported) {
  const RunReport& run = reported.run;
  RunFigures figures;
  if (!run.evaluations.empty()) {
    const EvaluationPoint& last = run.evaluations.back();
    figures[{run.part, run.goal, false}] = {last.goal};
    if (run.goal != kLossName) figures[{run.part, kLossName, false}] = {last.loss};
  }
  take_best(reported, figures);
  for (const StateFigures& state : run.figures)
    for (const auto& [name, value] : state.values) figures[{state.part, name, state.is_best}].value = value;
  std::erase_if(figures, [](const auto& entry) { return !std::isfinite(entry.second.value); });
  return figures;
}

// Returns the columns that any run has a figure for: those of the goals first, the test part before others, final
// states before best ones.
std::vector<FigureColumn> figure_columns(const std::vector<ReportedRun>& runs, const std::vector<RunFigures>& figures) {
  std::set<FigureColumn> found;
  std::set<std::string> goals;
  for (size_t i = 0; i < runs.size(); ++i) {
    goals.insert(runs[i].run.goal);
    for (const auto& [column, figure] : figures[i]) found.insert(column);
  }
  std::vector<FigureColumn> columns(found.begin(), found.end());
  std::stable_sort(columns.begin(), columns.end(), [&](const FigureColumn& a, const FigureColumn& b) {
    return std::tuple(!goals.contains(a.metric), a.metric) < std::tuple(!goals.contains(b.metric), b.metric);
  });
  return columns;
}

HtmlCell figure_cell(const ReportedRun& reported, const RunFigures& figures, const FigureColumn& column) {
  const auto found = figures.find(column);
  if (found == figures.end()) return "-";
  const auto kind = reported.run.metric_kinds.find(column.metric);
  const Figure figure{column.metric, found->second.value,
                      kind == reported.run.metric_kinds.end() ? MetricKind{} : kind->second};
  std::string words = figure.text();
  if (const std::optional<double>& epoch = found->second.epoch) words += fmt::format(" (epoch {:.4g})", *epoch);
  return {words, figure.kind.is_share ? 100 * figure.value : figure.value};
}

}  // namespace

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

std::vector<std::string> differing_flags(const std::vector<ReportedRun>& runs) {
  std::vector<std::string> names = all_flags(runs);
  std::erase_if(names, [&](const std::string& name) { return !differs(runs, name); });
  return names;
}

std::string key_of(size_t line) {
  const Svg::Stroke stroke = numbered_stroke(line);
  return fmt::format(
      R"(<svg class="key" viewBox="0 0 24 10"><line x1="0" y1="5" x2="24" y2="5" stroke="{}" stroke-width="3"{}/></svg>)",
      stroke.color, stroke.dashes.empty() ? "" : fmt::format(R"( stroke-dasharray="{}")", stroke.dashes));
}

std::string picked_by(size_t line) { return fmt::format(R"(class="pick" data-run="{}")", line); }

std::string results_table(const std::vector<ReportedRun>& runs, const std::vector<size_t>& lines) {
  const std::vector<std::string> flags = differing_flags(runs);
  std::vector<RunFigures> figures;
  for (const ReportedRun& run : runs) figures.push_back(figures_of(run));
  const std::vector<FigureColumn> found = figure_columns(runs, figures);
  std::vector<std::string> columns = {"run"};
  for (const std::string& flag : flags) columns.push_back(xml_text(flag));
  columns.push_back("ended");
  for (const FigureColumn& column : found) columns.push_back(xml_text(column.title()));
  columns.insert(columns.end(),
                 {"training loss", "steps done", "samples/s", "wait for data a step", "memory", "programs", "time"});
  HtmlTable table(columns);
  for (size_t i = 0; i < runs.size(); ++i) {
    const ReportedRun& r = runs[i];
    std::vector<HtmlCell> cells = {key_of(lines[i]) + xml_text(r.name)};
    for (const std::string& flag : flags) cells.push_back(flag_cell(flag_of(r, flag)));
    cells.push_back(ending(r));
    for (const FigureColumn& column : found) cells.push_back(figure_cell(r, figures[i], column));
    const double train_loss = r.run.evaluations.empty() ? NAN : r.run.evaluations.back().train_loss;
    cells.insert(cells.end(), {number_cell(train_loss), HtmlCell(std::to_string(r.done_steps), r.done_steps),
                               rate_cell(r.samples_per_s), wait_cell(r.data_wait_ms), memory_cell(r.process_bytes),
                               memory_cell(r.program_bytes), time_cell(r.run.seconds)});
    table.row(cells, picked_by(lines[i]));
  }
  return table.str();
}

}  // namespace kb
