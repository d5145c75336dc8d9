#include "recipes/train/loop_result.h"

#include <cmath>

namespace kb {

Figure judged_figure(const Evaluation& evaluation) {
  const Figure* goal = evaluation.goal();
  return goal ? *goal : Figure{kLossName, evaluation.loss, {}};
}

bool is_better(const Evaluation& evaluation, const std::optional<BestState>& than) {
  const Figure own = judged_figure(evaluation);
  return std::isfinite(own.value) && (!than || own.is_better_than(judged_figure(than->evaluation)));
}

}  // namespace kb
