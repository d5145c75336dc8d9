// Writes the answer for several targets as CSV, JSON, figures and one HTML page.
#pragma once
#include <string>
#include <vector>

#include "recipes/answer/answer_figures.h"
#include "recipes/answer/side_by_side.h"
#include "recipes/answer/targets_answer.h"

namespace kb {

// Returns the answers that there are as studies of the targets' names, "loss=1.2", to be drawn side by side.
std::vector<NamedStudy> studies_of(const TargetsAnswer& answer);

// Returns a table with a line for each target. Columns:
//   target, value, minibatches, minibatches_reached, runs, runs_reached; then s_min, e_min, b_crit,
//   perfect_scaling_ends and gain_ends, each with NAME_low and NAME_high; intervals, which says "95 %" or "95 % if
//   k = 1"; noise_scale, noise_scale_least, noise_scale_greatest (samples; inf without an upper bound);
//   tokens_per_sample
// A cell is empty if there is no such value; an end that is not known is empty.
std::string targets_csv(const TargetsAnswer& answer);

// Returns a table with a line for each target and minibatch: the target, then the columns of answer_csv().
std::string targets_steps_csv(const TargetsAnswer& answer);

// Returns the whole answer of each target, the verdict and the law.
std::string targets_json(const TargetsAnswer& answer, const std::string& command);

// Returns figures of the steps to all targets, of their best rates, and of B_crit against the figure with its law;
// nothing if no target is reached.
std::vector<AnswerFigure> targets_figures(const TargetsAnswer& answer);

std::string targets_page(const TargetsAnswer& answer, const std::string& command,
                         const std::vector<AnswerFigure>& figures);

}  // namespace kb
