// The answer of a study as figures.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "recipes/answer/store_results.h"
#include "recipes/answer/study_answer.h"

namespace kb {

struct AnswerFigure {
  std::string name;  // name of its file, without an ending
  std::string svg;   // self-contained picture
};

// The 95 % band of the fitted steps over the axis of the measured minibatches: pairs of a minibatch and an end of the
// interval, where both ends are known.
struct FitBand {
  std::vector<std::pair<double, double>> low, high;
};
FitBand band_of(const StudyAnswer& answer);  // returns an empty band without a fit

// Returns figures of steps, samples and efficiency against the minibatch, with fit, perfect scaling and regions. If
// rates were noted, another figure has the best ones beside the linear and the square-root law and, if a minibatch has
// several rates, a map has all.
std::vector<AnswerFigure> answer_figures(const StudyAnswer& answer);

// Returns a figure of the target's metric at every evaluation against the samples seen, both logarithmic: a curve for
// each minibatch, darker for smaller ones, and a line at the target. Expects at least one best run.
AnswerFigure curves_figure(const StoreResults& results);

}  // namespace kb
