// The crossing of a target: the place between two evaluations at which a run reached it.
#pragma once
#include <optional>

#include "recipes/config/target_figure.h"
#include "recipes/trials/run_reader.h"

namespace kb {

// Returns the figure of a metric at an evaluation; NaN if the run's metrics lack it.
double figure_at(const RunReport& run, const EvaluationPoint& point, const std::string& metric);

// Returns the number of steps after which an evaluation first reached a target, be it the run's own or another;
// nothing if none did. An evaluation before the first step does not count.
std::optional<int64_t> step_reaching(const RunReport& run, const TargetFigure& target);

// The last evaluation before the target was reached, and the one that reached it: steps and figures.
struct TargetBracket {
  double steps_before = 0, steps_at = 0;
  double figure_before = 0, figure_at = 0;
};
// Returns the bracket of a run that has reached its target; nothing if no evaluation after a step precedes it, if the
// metrics lack the target's figure, or if the figure before is better than the target.
std::optional<TargetBracket> target_bracket(const RunReport& run, const TargetFigure& target);

// Returns the number of steps, a real number, at which the figure equals the target: inside the bracket the logarithm
// of the steps is taken as linear in the figure. The first evaluation that reaches the target comes later than the
// crossing, by 5 % on average if evaluations are made after 1.1^k steps. If figures scatter by as much as they fall
// from one evaluation to the next, the first crossing is early. Returns target_step if there is no bracket.
double target_crossing(const RunReport& run, const TargetFigure& target);

}  // namespace kb
