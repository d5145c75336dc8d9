#include "recipes/answer/answer_curves.h"

#include <fmt/format.h>

#include <cmath>

#include "recipes/report/scatter_chart.h"
#include "recipes/report/shades.h"
#include "recipes/trials/target_crossing.h"

namespace kb {
namespace {

using CoursePoints = std::vector<std::pair<double, double>>;

constexpr double kLightest = 0.85;  // greatest shade used: the yellow beyond it is hard to see on white
const Svg::Stroke kTargetStroke = {.color = "#333", .width = 1.5, .dashes = "6 4"};

// Returns the samples seen and the values of a run's evaluations. Values that are 0 or not finite are left out, since
// logarithmic axes have no place for them.
CoursePoints course_of(const RunReport& run, const std::string& metric) {
  CoursePoints points;
  for (const EvaluationPoint& point : run.evaluations) {
    const double value = figure_at(run, point, metric);
    if (std::isfinite(value) && value > 0 && point.step > 0)
      points.emplace_back(static_cast<double>(point.step * run.minibatch), value);
  }
  return points;
}

Svg::Stroke stroke_of(size_t place, size_t count) {
  const double share = count > 1 ? static_cast<double>(place) / static_cast<double>(count - 1) : 0;
  return {.color = shade_at(kLightest * share), .width = 1.6};
}

}  // namespace

AnswerFigure curves_figure(const StoreResults& results) {
  const TargetFigure& target = results.target;
  std::vector<CoursePoints> courses;
  CurveRange samples, values;
  values.take(target.value);
  for (const RunReport& run : results.best_runs) {
    courses.push_back(course_of(run, target.metric));
    for (const auto& [x, y] : courses.back()) samples.take(x), values.take(y);
  }
  ScatterFigure figure("The best training of each minibatch", logarithmic_values(samples), logarithmic_values(values),
                       94, 452);
  figure.chart.draw_axes({"samples seen", fmt::format("{} {}", results.best_runs.front().part, target.metric)});
  figure.chart.level(target.value, kTargetStroke);
  figure.legend = {{"target", kTargetStroke}};
  for (size_t i = 0; i < courses.size(); ++i) {
    figure.chart.line(courses[i], stroke_of(i, courses.size()));
    figure.legend.push_back({fmt::to_string(results.best_runs[i].minibatch), stroke_of(i, courses.size())});
  }
  return {"curves", figure.str()};
}

}  // namespace kb
