// Draws a forecast for many workers: four charts over the number of workers, in powers of two.
#include <fmt/format.h>

#include <functional>

#include "graph/error.h"
#include "recipes/inspect/scaling.h"
#include "recipes/report/scatter_chart.h"

namespace kb {
namespace {

constexpr double kPageWidth = 1160, kPageHeight = 820;
constexpr const char* kScaleColors[] = {kFirstColor, kSecondColor, kThirdColor};
const Svg::Stroke kIdeal{.color = "#888", .width = 1.5, .dashes = "6 4"};
const char* const kHidden = "2 3";  // dashes of communication with its hidden part

using RowFigure = std::function<double(const ScaleRow&)>;

// Returns a chart with its axes drawn at `place`: 0 and 1 are the upper places, 2 and 3 the lower ones.
ScatterChart chart_at(int place, Svg& svg, const std::string& title, const std::vector<double>& workers,
                      const ValueAxis& values) {
  const ChartBox box{70 + place % 2 * 576.0, 140 + place / 2 * 350.0, 490, 250};
  svg.text(box.left - 46, box.top - 14, title, {.size = 13, .bold = true});
  ScatterChart chart(svg, box, axis_at(workers), values);
  chart.draw_axes({"workers", ""});
  return chart;
}

void draw_line(ScatterChart& chart, const std::vector<ScaleRow>& rows, const Svg::Stroke& stroke,
               const RowFigure& value) {
  std::vector<std::pair<double, double>> points;
  for (const ScaleRow& row : rows) points.emplace_back(row.workers, value(row));
  chart.line(points, stroke);
}

void draw_dots(ScatterChart& chart, const std::vector<ScaleRow>& rows, const std::string& color,
               const RowFigure& value) {
  for (const ScaleRow& row : rows)
    chart.dot(
        row.workers, value(row), color,
        fmt::format("{} workers, kn {:.0f}: {:.4g} images/s, {:.1f} % efficient, step {:.4g} ms, of which "
                    "{:.3g} ms wait for communication",
                    row.workers, row.minibatch, row.rate, 100 * row.efficiency, 1e3 * row.step, 1e3 * row.exposed));
}

double rate_of(const ScaleRow& row) { return row.rate; }
double efficiency(const ScaleRow& row) { return 100 * row.efficiency; }
double communication(const ScaleRow& row) { return 1e3 * row.communication; }
double exposed(const ScaleRow& row) { return 1e3 * row.exposed; }

// Returns the range of a figure over all lines and one value more.
CurveRange range_with(double value, const std::vector<ScaleLine>& lines, const RowFigure& figure) {
  CurveRange range;
  range.take(value);
  for (const ScaleLine& line : lines)
    for (const ScaleRow& row : line.rows) range.take(figure(row));
  return range;
}

// Returns the rows whose minibatch is no larger than an epoch: others have none.
std::vector<ScaleRow> with_epochs(std::vector<ScaleRow> rows, double epoch) {
  std::erase_if(rows, [&](const ScaleRow& row) { return row.minibatch > epoch; });
  return rows;
}

// Returns the rows for workers that are each as fast as one alone.
std::vector<ScaleRow> ideal_of(const ScaleLine& line) {
  std::vector<ScaleRow> rows = line.rows;
  for (ScaleRow& row : rows) {
    row.rate = row.workers * line.rows[0].rate;
    row.efficiency = 1;
  }
  return rows;
}

void draw_legend(Svg& svg, const std::vector<ScaleLine>& lines) {
  std::vector<ChartEntry> entries;
  for (size_t i = 0; i < lines.size(); ++i)
    entries.push_back({lines[i].label(), {.color = kScaleColors[i], .width = 2}});
  entries.push_back({"communication, hidden part included", {.width = 1.5, .dashes = kHidden}});
  entries.push_back({"as many workers alone", kIdeal});
  draw_entries(svg, 24, 96, kPageWidth, entries);
}

}  // namespace

std::string scale_picture(const std::vector<ScaleLine>& lines, double epoch, const ScaleWords& words) {
  ensure(!lines.empty() && lines.size() <= std::size(kScaleColors) && !lines[0].rows.empty(),
         "scale_picture: one to three lines of rows");
  Svg svg(kPageWidth, kPageHeight);
  svg.text(24, 30, words.title, {.size = 17, .bold = true});
  svg.text(24, 50, words.worker, {.color = kQuietColor});
  svg.text(24, 67, words.nodes, {.color = kQuietColor});
  draw_legend(svg, lines);

  const std::vector<ScaleRow> ideal = ideal_of(lines[0]);
  std::vector<double> workers;
  for (const ScaleRow& row : ideal) workers.push_back(row.workers);
  const RowFigure hours = [&](const ScaleRow& row) { return row.seconds_of(kPaperEpochs * epoch) / 3600; };
  ScatterChart rates =
      chart_at(0, svg, "images/s", workers, logarithmic_values(range_with(rate_of(ideal.back()), lines, rate_of)));
  ScatterChart efficiencies =
      chart_at(1, svg, "efficiency, %", workers, linear_values(range_with(100, lines, efficiency)));
  ScatterChart waits =
      chart_at(2, svg, "exposed communication, ms a step", workers, linear_values(range_with(0, lines, communication)));
  ScatterChart runs = chart_at(3, svg, fmt::format("time of {} epochs, hours", kPaperEpochs), workers,
                               logarithmic_values(range_with(hours(ideal.back()), lines, hours)));
  draw_line(rates, ideal, kIdeal, rate_of);
  draw_line(efficiencies, ideal, kIdeal, efficiency);
  draw_line(runs, with_epochs(ideal, epoch), kIdeal, hours);
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::vector<ScaleRow>& rows = lines[i].rows;
    draw_line(waits, rows, {.color = kScaleColors[i], .width = 1.5, .dashes = kHidden}, communication);
    const auto draw = [&](ScatterChart& chart, const std::vector<ScaleRow>& drawn, const RowFigure& value) {
      draw_line(chart, drawn, {.color = kScaleColors[i], .width = 2}, value);
      draw_dots(chart, drawn, kScaleColors[i], value);
    };
    draw(rates, rows, rate_of);
    draw(efficiencies, rows, efficiency);
    draw(waits, rows, exposed);
    draw(runs, with_epochs(rows, epoch), hours);
  }
  return svg.str();
}

}  // namespace kb
