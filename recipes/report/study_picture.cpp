#include "recipes/report/study_picture.h"

#include <algorithm>

#include "recipes/report/curve_chart.h"
#include "recipes/report/curve_points.h"

namespace kb {
namespace {

constexpr double kStudyWidth = 1040, kStudyLeft = 70, kStudyTop = 70, kStudyAcross = 660, kStudyDown = 300,
                 kStudyGap = 60, kStudyBelow = 46, kStudyLegend = 760, kStudyLegendLine = 20;
constexpr double kStudyRatio = 10;  // ratio of the greatest to the least value from which on an axis is logarithmic

std::vector<std::string> labels_of(const std::vector<StudyLine>& lines) {
  std::vector<std::string> labels;
  for (const StudyLine& line : lines)
    if (std::find(labels.begin(), labels.end(), line.label) == labels.end()) labels.push_back(line.label);
  return labels;
}

class StudyPicture {
 public:
  StudyPicture(const std::vector<StudyLine>& lines, const GoalCurve& goal)
      : lines_(lines), goal_(goal), labels_(labels_of(lines)), epochs_(last_epochs(lines)) {}

  std::string str(const std::string& title) const {
    const double second = kStudyTop + kStudyDown + kStudyGap;
    Svg svg(kStudyWidth, std::max(second + kStudyDown + kStudyBelow,
                                  kStudyTop + kStudyLegendLine * static_cast<double>(labels_.size() + 1)));
    svg.text(24, 30, title, {.size = 17, .bold = true});
    draw(svg, kStudyTop, goal_label(goal_), &StudyLine::goal, goal_.is_share ? 100 : 1);
    draw(svg, second, "training loss, mean since the evaluation before", &StudyLine::train_loss, 1);
    svg.text(kStudyLeft + kStudyAcross / 2, second + kStudyDown + 36, "epochs",
             {.anchor = "middle", .color = kQuietColor});
    for (size_t i = 0; i < labels_.size(); ++i) {
      const double y = kStudyTop + kStudyLegendLine * static_cast<double>(i) + 8;
      svg.line(kStudyLegend, y - 4, kStudyLegend + 24, y - 4, stroke(labels_[i]));
      svg.text(kStudyLegend + 32, y, labels_[i], {});
    }
    return svg.str();
  }

 private:
  static CurveRange last_epochs(const std::vector<StudyLine>& lines) {
    CurveRange epochs;
    for (const StudyLine& line : lines)
      for (const Curve* curve : {&line.goal, &line.train_loss})
        if (!curve->empty()) epochs.take(curve->back().epoch);
    return epochs;
  }

  Svg::Stroke stroke(const std::string& label) const {
    const auto at = static_cast<size_t>(std::find(labels_.begin(), labels_.end(), label) - labels_.begin());
    return numbered_stroke(at);
  }

  void draw(Svg& svg, double top, const std::string& what, Curve StudyLine::*member, double factor) const {
    std::vector<Curve> curves;
    CurveRange range;
    for (const StudyLine& line : lines_) {
      curves.push_back(scaled(line.*member, factor));
      range.take(curves.back());
    }
    CurveChart chart(svg, {kStudyLeft, top, kStudyAcross, kStudyDown}, values_of_range(range, kStudyRatio), epochs_);
    chart.draw_axes(what);
    for (size_t i = 0; i < lines_.size(); ++i)
      chart.evaluations(curves[i], stroke(lines_[i].label), lines_[i].label + ": " + what);
  }

  const std::vector<StudyLine>& lines_;
  const GoalCurve& goal_;
  const std::vector<std::string> labels_;
  const CourseAxis epochs_;
};

}  // namespace

std::string study_picture(const std::string& title, const std::vector<StudyLine>& lines, const GoalCurve& goal) {
  return StudyPicture(lines, goal).str(title);
}

}  // namespace kb
