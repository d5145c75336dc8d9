// Runs of a study as lines of its picture.
#pragma once
#include "recipes/report/study_picture.h"
#include "recipes/trials/summary.h"

namespace kb {

// The run's evaluations; what is not finite has no point.
StudyLine line_of(const RunReport& run, const std::string& label);
GoalCurve goal_curve(const Summary& summary);

}  // namespace kb
