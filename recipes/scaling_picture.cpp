// Three charts side by side over one axis of workers, in powers of two.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "graph/error.h"
#include "recipes/scaling.h"
#include "recipes/svg.h"

namespace kb {
namespace {

constexpr double kWidth = 1240, kHeight = 470;
constexpr double kTop = 118, kBottom = 64;  // around a chart
constexpr double kLeft = 70, kGap = 88, kRight = 24;
constexpr double kChart = (kWidth - kLeft - kRight - 2 * kGap) / 3;

constexpr const char* kColors[] = {"#0072b2", "#d55e00", "#009e73"};  // that the colour-blind tell apart
constexpr const char* kIdeal = "#888";

using Figure = double (*)(const ScaleRow&);

struct Axis {
  double low = 0, high = 1;
  bool logarithmic = false;
  std::vector<double> ticks = {};
  double part(double value) const {
    return logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
  }
};

// From 0 in steps of 1, 2 or 5 to the first that is not below `most`.
Axis linear_axis(double most) {
  constexpr double kTicks = 5;
  const double decade = std::pow(10, std::floor(std::log10(std::max(most, 1e-9) / kTicks)));
  double step = 10 * decade;
  for (const double factor : {5, 2, 1})
    if (factor * decade * kTicks >= most) step = factor * decade;
  Axis axis;
  axis.ticks = {0};
  while (axis.ticks.back() < most * (1 - 1e-9)) axis.ticks.push_back(static_cast<double>(axis.ticks.size()) * step);
  if (axis.ticks.size() == 1) axis.ticks.push_back(step);
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

class Chart {
 public:
  Chart(Svg& svg, int place, int most_workers, Axis axis, const std::string& title)
      : svg_(svg), left_(kLeft + place * (kChart + kGap)), most_(most_workers), axis_(std::move(axis)) {
    svg_.text(left_ - 46, kTop - 14, title, {.size = 13, .bold = true});
    for (const double tick : axis_.ticks) {
      svg_.line(left_, y(tick), left_ + kChart, y(tick), {.color = "#e4e4e4"});
      svg_.text(left_ - 8, y(tick) + 4, number_text(tick), {.size = 11, .anchor = "end", .color = "#555"});
    }
    const int every = most_ > 64 ? 4 : 2;
    for (int workers = 1; workers <= most_; workers *= every) {
      svg_.line(x(workers), kTop, x(workers), kHeight - kBottom + 4, {.color = "#e4e4e4"});
      svg_.text(x(workers), kHeight - kBottom + 18, std::to_string(workers),
                {.size = 11, .anchor = "middle", .color = "#555"});
    }
    svg_.line(left_, kHeight - kBottom, left_ + kChart, kHeight - kBottom, {});
    svg_.line(left_, kTop, left_, kHeight - kBottom, {});
    svg_.text(left_ + kChart / 2, kHeight - kBottom + 38, "workers", {.anchor = "middle", .color = "#555"});
  }

  void line(const std::vector<ScaleRow>& rows, const Svg::Stroke& stroke, Figure value) {
    Svg::Points points;
    for (const ScaleRow& row : rows) points.emplace_back(x(row.workers), y(value(row)));
    svg_.lines(points, stroke);
  }

  void dots(const std::vector<ScaleRow>& rows, const std::string& color, Figure value) {
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
    return left_ + 10 + part * (kChart - 20);
  }
  double y(double value) const { return kHeight - kBottom - axis_.part(value) * (kHeight - kBottom - kTop); }

  Svg& svg_;
  double left_ = 0;
  int most_ = 1;
  Axis axis_;
};

double rate(const ScaleRow& row) { return row.rate; }
double efficiency(const ScaleRow& row) { return 100 * row.efficiency; }
double communication(const ScaleRow& row) { return 1e3 * row.communication; }
double exposed(const ScaleRow& row) { return 1e3 * row.exposed; }

double most(const std::vector<ScaleLine>& lines, Figure value) {
  double result = 0;
  for (const ScaleLine& line : lines)
    for (const ScaleRow& row : line.rows) result = std::max(result, value(row));
  return result;
}

// As many workers alone.
std::vector<ScaleRow> ideal_of(const ScaleLine& line) {
  std::vector<ScaleRow> rows = line.rows;
  for (ScaleRow& row : rows) {
    row.rate = row.workers * line.rows[0].rate;
    row.efficiency = 1;
  }
  return rows;
}

double legend_entry(Svg& svg, double x, const std::string& text, const Svg::Stroke& stroke) {
  constexpr double kY = 76, kLetter = 6.2;
  svg.line(x, kY - 4, x + 28, kY - 4, stroke);
  svg.text(x + 35, kY, text, {});
  return x + 60 + kLetter * static_cast<double>(text.size());
}

void draw_legend(Svg& svg, const std::vector<ScaleLine>& lines) {
  double x = 24;
  for (size_t i = 0; i < lines.size(); ++i)
    x = legend_entry(svg, x, std::string(name(lines[i].algorithm)), {.color = kColors[i], .width = 2});
  x = legend_entry(svg, x, "communication, hidden part included", {.width = 1.5, .dashes = "2 3"});
  legend_entry(svg, x, "as many workers alone", {.color = kIdeal, .width = 1.5, .dashes = "6 4"});
}

}  // namespace

std::string scale_picture(const std::vector<ScaleLine>& lines, const std::string& title, const std::string& subtitle) {
  ensure(!lines.empty() && lines.size() <= std::size(kColors) && !lines[0].rows.empty(),
         "scale_picture: one to three lines of rows");
  Svg svg(kWidth, kHeight);
  svg.text(24, 30, title, {.size = 17, .bold = true});
  svg.text(24, 50, subtitle, {.color = "#555"});
  draw_legend(svg, lines);

  const std::vector<ScaleRow> ideal = ideal_of(lines[0]);
  const int workers = ideal.back().workers;
  const Svg::Stroke dashed{.color = kIdeal, .width = 1.5, .dashes = "6 4"};
  Chart rates(svg, 0, workers, log_axis(ideal.front().rate, ideal.back().rate), "images/s");
  Chart efficiencies(svg, 1, workers, linear_axis(std::max(100.0, most(lines, efficiency))), "efficiency, %");
  Chart waits(svg, 2, workers, linear_axis(most(lines, communication)), "exposed communication, ms a step");
  rates.line(ideal, dashed, rate);
  efficiencies.line(ideal, dashed, efficiency);
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::vector<ScaleRow>& rows = lines[i].rows;
    waits.line(rows, {.color = kColors[i], .width = 1.5, .dashes = "2 3"}, communication);
    for (const auto& [chart, value] :
         {std::pair<Chart*, Figure>{&rates, rate}, {&efficiencies, efficiency}, {&waits, exposed}}) {
      chart->line(rows, {.color = kColors[i], .width = 2}, value);
      chart->dots(rows, kColors[i], value);
    }
  }
  return svg.str();
}

}  // namespace kb
