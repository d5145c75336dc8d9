// Curves of many runs in one picture: the goal and the training loss over epochs, one colour per configuration.
#pragma once
#include <string>
#include <vector>

#include "recipes/report/curves.h"

namespace kb {

// The curves of one run.
struct StudyLine {
  std::string label;       // name of its configuration; runs with one label share a colour and an entry in the legend
  Curve goal, train_loss;  // a point per evaluation; a goal that is a share is a fraction
};

// Returns a self-contained SVG. numbered_stroke() tells up to fifty configurations apart.
std::string study_picture(const std::string& title, const std::vector<StudyLine>& lines, const GoalCurve& goal);

}  // namespace kb
