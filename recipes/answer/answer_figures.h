// What a study answers, drawn.
#pragma once
#include <string>
#include <vector>

#include "recipes/answer/study_answer.h"

namespace kb {

struct AnswerFigure {
  std::string name;  // of its file, without an ending
  std::string svg;   // self-contained
};

// Steps to the target against the minibatch, with fit, perfect scaling and regions; samples and efficiency likewise.
// Rates that were noted are drawn beside the linear and the square-root line, and as a map where a minibatch has
// several.
std::vector<AnswerFigure> answer_figures(const StudyAnswer& answer);

}  // namespace kb
