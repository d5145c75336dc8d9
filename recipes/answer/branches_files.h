// Writes the answer of a run's branches as CSV, JSON, figures and one HTML page.
#pragma once
#include <string>
#include <vector>

#include "recipes/answer/answer_figures.h"
#include "recipes/answer/branches_answer.h"

namespace kb {

// Returns a table with a line for each branch. Columns:
//   place (steps of the run), samples, tokens (seen there), k, minibatch, steps, rate, loss (smoothed as asked),
//   difference (from that of k = 1), error (its standard error), holds (1 or 0), diverged (1 or 0), loss_ema (alpha
//   0.5), loss_mean (the last quarter of the window), loss_held_out, b_local_low, b_local_high, noise_scale,
//   noise_scale_low, noise_scale_high
// A cell is empty if there is no such value.
std::string branches_csv(const BranchesAnswer& answer);

// Returns the whole answer, with the losses of all steps.
std::string branches_json(const BranchesAnswer& answer, const std::string& command);

// Returns figures of the losses against k, and of local critical minibatch and noise scale against the samples seen.
std::vector<AnswerFigure> branches_figures(const BranchesAnswer& answer);

std::string branches_page(const BranchesAnswer& answer, const std::string& command,
                          const std::vector<AnswerFigure>& figures);

}  // namespace kb
