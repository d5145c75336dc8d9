// Draws a forecast for many workers: four charts over the number of workers, in powers of two.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "graph/error.h"
#include "recipes/inspect/scaling.h"
#include "recipes/report/svg.h"

namespace kb {
namespace {

constexpr double kPageWidth = 1160, kPageHeight = 820;
constexpr double kPageLeft = 70, kPageTop = 140, kPageAcross = 576,
                 kPageDown = 350;  // place of the first chart, and distances to the next ones
constexpr double kScaleWidth = 490, kScaleHeight = 250;

constexpr const char* kScaleColors[] = {"#0072b2", "#d55e00", "#009e73"};  // distinct for colour-blind readers
constexpr const char* kIdeal = "#888";

using RowFigure = std::function<double(const ScaleRow&)>;

struct Axis {
  double low = 0, high = 1;
  bool logarithmic = false;
  std::vector<double> ticks = {};
  double part(double value) const {
    return logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
  }
};

Axis linear_axis(double most) {
  Axis axis;
  axis.ticks = round_ticks(most);
  axis.high = axis.ticks.back();
  return axis;
}

Axis log_axis(double least, double most) {
  Axis axis{std::pow(10, std::floor(std::log10(least))), std::pow(10, std::ceil(std::log10(most))), true};
  if (axis.high <= axis.low) axis.high = 10 * axis.low;
  for (double tick = axis.low; tick <= axis.high * (1 + 1e-9); tick *= 10) axis.ticks.push_back(tick);
  return axis;
}

std::string number_text(double value) {
  if (value >= 1e6) return fmt::format("{:g}M", value / 1e6);
  return value >= 1e3 ? fmt::format("{:g}k", value / 1e3) : fmt::format("{:g}", value);
}

class ScaleChart {
 public:
  // Draws the axes at `place`: 0 and 1 are the upper places, 2 and 3 the lower ones.
  ScaleChart(Svg& svg, int place, int most_workers, Axis axis, const std::string& title)
      : svg_(svg),
        left_(kPageLeft + place % 2 * kPageAcross),
        top_(kPageTop + place / 2 * kPageDown),
        most_(most_workers),
        axis_(std::move(axis)) {
    constexpr const char* kGrid = "#e4e4e4";
    const Svg::Letters small{.size = 11, .anchor = "end", .color = "#555"};
    svg_.text(left_ - 46, top_ - 14, title, {.size = 13, .bold = true});
    for (const double tick : axis_.ticks) {
      svg_.line(left_, y(tick), left_ + kScaleWidth, y(tick), {.color = kGrid});
      svg_.text(left_ - 8, y(tick) + 4, number_text(tick), small);
    }
    const double bottom = top_ + kScaleHeight;
    for (int workers = 1; workers <= most_; workers *= 2) {
      svg_.line(x(workers), top_, x(workers), bottom + 4, {.color = kGrid});
      svg_.text(x(workers), bottom + 18, std::to_string(workers), {.size = 11, .anchor = "middle", .color = "#555"});
    }
    svg_.line(left_, bottom, left_ + kScaleWidth, bottom, {});
    svg_.line(left_, top_, left_, bottom, {});
    svg_.text(left_ + kScaleWidth / 2, bottom + 36, "workers", {.anchor = "middle", .color = "#555"});
  }

  void line(const std::vector<ScaleRow>& rows, const Svg::Stroke& stroke, const RowFigure& value) {
    Svg::Points points;
    for (const ScaleRow& row : rows) points.emplace_back(x(row.workers), y(value(row)));
    svg_.lines(points, stroke);
  }

  void dots(const std::vector<ScaleRow>& rows, const std::string& color, const RowFigure& value) {
    for (const ScaleRow& row : rows)
      svg_.circle(
          x(row.workers), y(value(row)), 3, color,
          fmt::format("{} workers, kn {:.0f}: {:.4g} images/s, {:.1f} % efficient, step {:.4g} ms, of which "
                      "{:.3g} ms wait for communication",
                      row.workers, row.minibatch, row.rate, 100 * row.efficiency, 1e3 * row.step, 1e3 * row.exposed));
  }

 private:
  double x(int workers) const {
    const double part = most_ == 1 ? 0.5 : std::log2(workers) / std::log2(most_);
    return left_ + 12 + part * (kScaleWidth - 24);
  }
  double y(double value) const { return top_ + (1 - axis_.part(value)) * kScaleHeight; }

  Svg& svg_;
  double left_ = 0, top_ = 0;
  int most_ = 1;
  Axis axis_;
};

double rate_of(const ScaleRow& row) { return row.rate; }
double efficiency(const ScaleRow& row) { return 100 * row.efficiency; }
double communication(const ScaleRow& row) { return 1e3 * row.communication; }
double exposed(const ScaleRow& row) { return 1e3 * row.exposed; }

double most(const std::vector<ScaleLine>& lines, const RowFigure& value) {
  double result = 0;
  for (const ScaleLine& line : lines)
    for (const ScaleRow& row : line.rows) result = std::max(result, value(row));
  return result;
}

double least(const std::vector<ScaleLine>& lines, const RowFigure& value) {
  double result = value(lines[0].rows[0]);
  for (const ScaleLine& line : lines)
    for (const ScaleRow& row : line.rows) result = std::min(result, value(row));
  return result;
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

double legend_entry(Svg& svg, double x, const std::string& text, const Svg::Stroke& stroke) {
  constexpr double kY = 96, kLetter = 6.2;
  svg.line(x, kY - 4, x + 28, kY - 4, stroke);
  svg.text(x + 35, kY, text, {});
  return x + 60 + kLetter * static_cast<double>(text.size());
}

void draw_legend(Svg& svg, const std::vector<ScaleLine>& lines) {
  double x = 24;
  for (size_t i = 0; i < lines.size(); ++i)
    x = legend_entry(svg, x, lines[i].label(), {.color = kScaleColors[i], .width = 2});
  x = legend_entry(svg, x, "communication, hidden part included", {.width = 1.5, .dashes = "2 3"});
  legend_entry(svg, x, "as many workers alone", {.color = kIdeal, .width = 1.5, .dashes = "6 4"});
}

}  // namespace

std::string scale_picture(const std::vector<ScaleLine>& lines, double epoch, const ScaleWords& words) {
  ensure(!lines.empty() && lines.size() <= std::size(kScaleColors) && !lines[0].rows.empty(),
         "scale_picture: one to three lines of rows");
  Svg svg(kPageWidth, kPageHeight);
  svg.text(24, 30, words.title, {.size = 17, .bold = true});
  svg.text(24, 50, words.worker, {.color = "#555"});
  svg.text(24, 67, words.nodes, {.color = "#555"});
  draw_legend(svg, lines);

  const std::vector<ScaleRow> ideal = ideal_of(lines[0]);
  const int workers = ideal.back().workers;
  const RowFigure hours = [&](const ScaleRow& row) { return row.seconds_of(kPaperEpochs * epoch) / 3600; };
  const Svg::Stroke dashed{.color = kIdeal, .width = 1.5, .dashes = "6 4"};
  ScaleChart rates(svg, 0, workers, log_axis(least(lines, rate_of), ideal.back().rate), "images/s");
  ScaleChart efficiencies(svg, 1, workers, linear_axis(std::max(100.0, most(lines, efficiency))), "efficiency, %");
  ScaleChart waits(svg, 2, workers, linear_axis(most(lines, communication)), "exposed communication, ms a step");
  ScaleChart runs(svg, 3, workers, log_axis(hours(ideal.back()), most(lines, hours)),
                  fmt::format("time of {} epochs, hours", kPaperEpochs));
  rates.line(ideal, dashed, rate_of);
  efficiencies.line(ideal, dashed, efficiency);
  runs.line(with_epochs(ideal, epoch), dashed, hours);
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::vector<ScaleRow>& rows = lines[i].rows;
    waits.line(rows, {.color = kScaleColors[i], .width = 1.5, .dashes = "2 3"}, communication);
    const auto draw = [&](ScaleChart& chart, const std::vector<ScaleRow>& drawn, const RowFigure& value) {
      chart.line(drawn, {.color = kScaleColors[i], .width = 2}, value);
      chart.dots(drawn, kScaleColors[i], value);
    };
    draw(rates, rows, rate_of);
    draw(efficiencies, rows, efficiency);
    draw(waits, rows, exposed);
    draw(runs, with_epochs(rows, epoch), hours);
  }
  return svg.str();
}

}  // namespace kb
