// Converts the runs of a study to lines of its picture.
#pragma once
#include "recipes/report/study_picture.h"
#include "recipes/trials/summary.h"

namespace kb {

// Returns the run's evaluations; values that are not finite, or too large to draw, have no point.
StudyLine line_of(const RunReport& run, const std::string& label);
GoalCurve goal_curve(const Summary& summary);

}  // namespace kb
