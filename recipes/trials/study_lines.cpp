#include "recipes/trials/study_lines.h"

#include <cmath>

namespace kb {

StudyLine line_of(const RunReport& run, const std::string& label) {
  StudyLine line{label, {}, {}};
  for (const EvaluationPoint& point : run.evaluations) {
    if (std::abs(point.goal) <= kMostDrawn) line.goal.push_back({point.epoch, point.goal});
    if (std::abs(point.train_loss) <= kMostDrawn) line.train_loss.push_back({point.epoch, point.train_loss});
  }
  return line;
}

GoalCurve goal_curve(const Summary& summary) {
  return {summary.goal, summary.goal_kind.is_share, summary.goal_kind.higher_is_better, summary.part};
}

}  // namespace kb
