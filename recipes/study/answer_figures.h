// What a study answers, drawn.
#pragma once
#include <string>
#include <vector>

#include "recipes/study/study_answer.h"

namespace kb {

struct AnswerFigure {
  std::string name;  // of its file, without an ending
  std::string svg;   // self-contained
};

// Steps to the target against the minibatch, with fit, perfect scaling and regions; samples likewise; where rates were
// noted, the best rate beside the linear and the square-root line, and a map of all rates where a minibatch has
// several.
std::vector<AnswerFigure> answer_figures(const StudyAnswer& answer);

}  // namespace kb
