// Draws two charts with logarithmic axes of distances; labels stand at the ends of the lines, apart from each other.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/error.h"
#include "recipes/charts/optimizer_paths.h"
#include "recipes/report/chart_axes.h"

namespace kb {
namespace {

constexpr double kWidth = 1240, kHeight = 590;
constexpr double kLeft = 64, kTop = 118, kAcross = 616;  // pixels: place of the first chart, distance to the next
constexpr double kChartWidth = 350, kChartHeight = 410;
constexpr double kLabelGap = 15, kLabelLeft = 34;  // pixels: between labels; between a line's end and its label

constexpr const char* kColors[] = {"#0072b2", "#d55e00", "#009e73", "#a64d8f", "#e69f00", "#3c9ad6", "#222", "#8a8a8a"};

constexpr const char* kDashes[] = {"", "6 3", "2 3"};

using Distances = std::vector<double> OptimizerPath::*;

Svg::Stroke stroke_of(size_t optimizer) {
  constexpr size_t kCount = std::size(kColors);
  return {.color = kColors[optimizer % kCount], .width = 2, .dashes = kDashes[optimizer / kCount]};
}

bool coincide(const std::vector<double>& a, const std::vector<double>& b) {
  const auto near = [](double x, double y) { return std::abs(x - y) <= 1e-9 * std::max(x, y); };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), near);
}

// Returns, for each path, the first one that it coincides with.
std::vector<size_t> lines_of(const std::vector<OptimizerPath>& paths, Distances distances) {
  std::vector<size_t> lines;
  for (size_t i = 0; i < paths.size(); ++i) {
    size_t line = 0;
    while (!coincide(paths[line].*distances, paths[i].*distances)) ++line;
    lines.push_back(line);
  }
  return lines;
}

// Returns heights that are at least a gap apart inside [top, bottom], in the order of the wanted ones and as near to
// them as that allows.
std::vector<double> spread(std::vector<double> wanted, double top, double bottom) {
  double least = top;
  for (double& y : wanted) {
    y = std::max(y, least);
    least = y + kLabelGap;
  }
  double most = bottom;
  for (size_t i = wanted.size(); i-- > 0;) {
    wanted[i] = std::min(wanted[i], most);
    most = wanted[i] - kLabelGap;
  }
  return wanted;
}

class Chart {
 public:
  Chart(Svg& svg, double left, const std::vector<OptimizerPath>& paths, Distances distances)
      : svg_(svg),
        axes_{{left, kTop, kChartWidth, kChartHeight}, {1, kPathSteps}, {}},
        paths_(paths),
        distances_(distances) {
    double least = INFINITY, most = 0;
    for (const OptimizerPath& path : paths) {
      least = std::min(least, (path.*distances)[1]);
      most = std::max(most, *std::max_element((path.*distances).begin(), (path.*distances).end()));
    }
    for (int64_t step = 1; step <= kPathSteps; ++step) axes_.x.ticks.push_back(static_cast<double>(step));
    for (double decade = std::floor(std::log10(least)); decade <= std::ceil(std::log10(most)); ++decade)
      axes_.y.ticks.push_back(std::pow(10, decade));
    axes_.y.low = axes_.y.ticks.front();
    axes_.y.high = axes_.y.ticks.back();
    axes_.y.is_logarithmic = true;
  }

  void draw(const std::string& title) {
    svg_.text(axes_.box.left - 44, kTop - 16, title, {.size = 13, .bold = true});
    axes_.draw(svg_, {.x = "steps"});
    const std::vector<size_t> lines = lines_of(paths_, distances_);
    for (size_t i = 0; i < paths_.size(); ++i)
      if (lines[i] == i) draw_line(i);
    draw_labels(lines);
  }

 private:
  double end_of(size_t path) const { return axes_.y_at((paths_[path].*distances_).back()); }

  void draw_line(size_t path) {
    Svg::Points points;
    for (int64_t step = 1; step <= kPathSteps; ++step)
      points.emplace_back(axes_.x_at(static_cast<double>(step)),
                          axes_.y_at((paths_[path].*distances_)[static_cast<size_t>(step)]));
    svg_.lines(points, stroke_of(path));
  }

  // Draws the labels in the order of the ends of the lines; a thin line leads from each end to its label.
  void draw_labels(const std::vector<size_t>& lines) {
    std::vector<size_t> order(paths_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return std::pair(end_of(lines[a]), lines[a]) < std::pair(end_of(lines[b]), lines[b]);
    });
    std::vector<double> heights;
    for (const size_t path : order) heights.push_back(end_of(lines[path]));
    heights = spread(heights, kTop, kTop + kChartHeight);
    const double end = axes_.box.right(), label = end + kLabelLeft;
    for (size_t i = 0; i < order.size(); ++i) {
      const size_t line = lines[order[i]];
      const std::string color = stroke_of(line).color;
      svg_.line(end + 2, end_of(line), label - 4, heights[i], {.color = color, .width = 0.7});
      svg_.text(label, heights[i] + 4, paths_[order[i]].name, {.color = color});
    }
  }

  Svg& svg_;
  ChartAxes axes_;
  const std::vector<OptimizerPath>& paths_;
  Distances distances_;
};

}  // namespace

std::string paths_picture(const std::vector<OptimizerPath>& paths) {
  ensure(paths.size() <= std::size(kDashes) * std::size(kColors), "paths_picture: a stroke for every optimizer");
  Svg svg(kWidth, kHeight);
  svg.text(20, 30, "The same gradients, ten steps", {.size = 17, .bold = true});
  svg.text(
      20, 50,
      "How far each optimizer has moved a parameter, |w_t - w_0|. The learning rate grows from a tenth of its peak "
      "to the peak over five steps; weight decay 0.1.",
      {.color = kQuietColor});
  svg.text(20, 67, "Optimizers that coincide share one line; their labels lead to the same end.",
           {.color = kQuietColor});
  Chart(svg, kLeft, paths, &OptimizerPath::weight).draw("a weight of norm 2: decayed, adapted");
  Chart(svg, kLeft + kAcross, paths, &OptimizerPath::bias).draw("a bias that begins at 0: neither decayed nor adapted");
  return svg.str();
}

}  // namespace kb
