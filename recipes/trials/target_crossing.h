// The crossing of a target: the place between two evaluations at which a run reached it.
#pragma once
#include <optional>

#include "recipes/config/target_figure.h"
#include "recipes/trials/run_reader.h"

namespace kb {

// The last evaluation before the target was reached, and the one that reached it: steps and figures.
struct TargetBracket {
  double steps_before = 0, steps_at = 0;
  double figure_before = 0, figure_at = 0;
};
// Nothing where there is no evaluation before it, the metrics do not tell the target's figure, or the figure before is
// no worse. The run has reached its target.
std::optional<TargetBracket> target_bracket(const RunReport& run, const TargetFigure& target);

// Returns the steps, not whole, at which the figure equals the target: log steps are taken as linear in the figure
// inside the bracket. The first evaluation that reaches the target lies behind the crossing, of evaluations after 1.1^k
// steps by 5 % on average. Returns target_step where there is no bracket.
double target_crossing(const RunReport& run, const TargetFigure& target);

}  // namespace kb
