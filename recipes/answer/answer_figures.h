// What a study answers, drawn.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "recipes/answer/study_answer.h"

namespace kb {

struct AnswerFigure {
  std::string name;  // of its file, without an ending
  std::string svg;   // self-contained
};

// The 95 % of the fitted steps over the axis of the measured minibatches: minibatches and ends, where both are known.
struct FitBand {
  std::vector<std::pair<double, double>> low, high;
};
FitBand band_of(const StudyAnswer& answer);  // empty without a fit

// Steps to the target against the minibatch, with fit, perfect scaling and regions; samples and efficiency likewise.
// Rates that were noted are drawn beside the linear and the square-root line, and as a map where a minibatch has
// several.
std::vector<AnswerFigure> answer_figures(const StudyAnswer& answer);

}  // namespace kb
