#include "recipes/report/study_picture.h"

#include <fmt/format.h>

#include <algorithm>

#include "recipes/report/curve_chart.h"

namespace kb {
namespace {

constexpr double kStudyWidth = 1040, kStudyLeft = 70, kStudyTop = 70, kStudyAcross = 660, kStudyDown = 300,
                 kStudyGap = 60, kStudyBelow = 46, kStudyLegend = 760, kStudyLegendLine = 20;
constexpr double kStudyRatio = 10;  // from the least value to the greatest, from which on an axis is logarithmic

// The colour-blind tell the first eight apart (Okabe and Ito 2008).
constexpr const char* kStudyColors[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00",
                                        "#56b4e9", "#000000", "#8a4f9e", "#7f7f7f", "#a0522d"};

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
    draw(svg, kStudyTop, fmt::format("test {}{}", goal_.name, goal_.is_share ? ", %" : ""), &StudyLine::goal,
         goal_.is_share ? 100 : 1);
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
    return {.color = kStudyColors[at % std::size(kStudyColors)],
            .width = 1.5,
            .dashes = at < std::size(kStudyColors) ? "" : "5 3"};
  }

  void draw(Svg& svg, double top, const std::string& what, Curve StudyLine::*member, double factor) const {
    std::vector<Curve> curves;
    CurveRange range;
    for (const StudyLine& line : lines_) {
      Curve curve = line.*member;
      for (CurvePoint& point : curve) point.value *= factor;
      range.take(curve);
      curves.push_back(std::move(curve));
    }
    const bool spans = range.low > 0 && range.high / range.low > kStudyRatio;
    CurveChart chart(svg, {kStudyLeft, top, kStudyAcross, kStudyDown},
                     spans ? logarithmic_values(range) : linear_values(range), epochs_);
    chart.draw_axes(what);
    for (size_t i = 0; i < lines_.size(); ++i)
      chart.evaluations(curves[i], stroke(lines_[i].label), lines_[i].label + ": " + what);
  }

  const std::vector<StudyLine>& lines_;
  const GoalCurve& goal_;
  const std::vector<std::string> labels_;
  const EpochAxis epochs_;
};

}  // namespace

std::string study_picture(const std::string& title, const std::vector<StudyLine>& lines, const GoalCurve& goal) {
  return StudyPicture(lines, goal).str(title);
}

}  // namespace kb
