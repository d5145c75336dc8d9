// The best state of a training so far: by the goal of the evaluations in its course, the first of equals.
#pragma once
#include <cstdint>
#include <optional>

#include "recipes/train/evaluation.h"

namespace kb {

struct BestState {
  int64_t step = 0;                // steps done
  Evaluation evaluation;           // chose the state
  std::optional<Evaluation> test;  // evaluates the state on the test part, where another part chose it
};

// Returns the figure that states are compared by: the first metric's, or the loss where there is none.
Figure judged_figure(const Evaluation& evaluation);

// Whether an evaluation is better than that of the best state so far; a number that is not finite is not.
bool is_better(const Evaluation& evaluation, const std::optional<BestState>& than);

}  // namespace kb
