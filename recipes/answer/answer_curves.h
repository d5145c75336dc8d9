// How the best training of each minibatch came to the target, drawn.
#pragma once
#include "recipes/answer/answer_figures.h"
#include "recipes/answer/store_results.h"

namespace kb {

// The target's metric at every evaluation against the samples seen, both logarithmic; a curve a minibatch, darker for
// smaller ones, and the target across. Expects a best run at least.
AnswerFigure curves_figure(const StoreResults& results);

}  // namespace kb
