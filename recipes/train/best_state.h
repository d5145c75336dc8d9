// The best state of a training so far, judged by the goal of the evaluations in its course. Among equal states it is
// the earliest.
#pragma once
#include <cstdint>
#include <optional>

#include "recipes/train/evaluation.h"

namespace kb {

struct BestState {
  int64_t step = 0;                // steps done
  Evaluation evaluation;           // the evaluation by which the state was chosen
  std::optional<Evaluation> test;  // evaluation of the state on the test part, if another part chose the state
};

// Returns the figure by which states are compared: the first metric, or the loss if there is no metric.
Figure judged_figure(const Evaluation& evaluation);

// Returns whether an evaluation is better than the best state's, `than`; any finite figure is better than none. A
// figure that is not finite is never better.
bool is_better(const Evaluation& evaluation, const std::optional<BestState>& than);

}  // namespace kb
