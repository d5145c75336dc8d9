// Curves of many runs in one picture: the goal and the training loss over epochs, a colour a configuration.
#pragma once
#include <string>
#include <vector>

#include "recipes/report/curves.h"

namespace kb {

struct StudyLine {
  std::string label;       // of its configuration; runs with the same label have one colour and one entry in the legend
  Curve goal, train_loss;  // a point an evaluation; a share is a fraction
};

// A self-contained SVG. Fifty configurations can be told apart: see numbered_stroke.
std::string study_picture(const std::string& title, const std::vector<StudyLine>& lines, const GoalCurve& goal);

}  // namespace kb
