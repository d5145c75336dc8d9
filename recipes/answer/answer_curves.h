// Draws how the best training of each minibatch came to the target.
#pragma once
#include "recipes/answer/answer_figures.h"
#include "recipes/answer/store_results.h"

namespace kb {

// Returns a figure of the target's metric at every evaluation against the samples seen, both logarithmic: a curve for
// each minibatch, darker for smaller ones, and a line at the target. Expects at least one best run.
AnswerFigure curves_figure(const StoreResults& results);

}  // namespace kb
