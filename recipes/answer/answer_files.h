// Writes the answer of a study as CSV and JSON, for other programs to read.
#pragma once
#include <string>

#include "optim/critical_batch.h"
#include "recipes/answer/study_answer.h"
#include "recipes/answer/study_head.h"
#include "runtime/json.h"

namespace kb {

// Write estimates and their intervals: an end that is open is null, and so is a value whose ends are both open.
Json interval_json(const ConfidenceInterval& interval);  // returns {"low": .., "high": ..}
Json estimate_json(const Estimate& estimate);            // returns the interval, with "value" beside its ends

// Returns a table with a line for each minibatch: first those that reached the target, at their best rates, then the
// others, with few values. A cell is empty if there is no such value. `study` can read the table as measurements.
// Columns:
//   minibatch, rate, setting (of other values that were varied), steps (geometric mean over the runs), steps_low,
//   steps_high (95 %), samples, efficiency (samples of the base minibatch over these), region, fitted_steps, residual
//   (steps over the fitted ones, minus 1), linear_rate, sqrt_rate (from the base minibatch), diverged_from (least rate
//   above the best at which a run diverged), runs, runs_reached, seconds
std::string answer_csv(const StudyAnswer& answer);

struct AnswerSource {
  std::string command, file;
  StudyHead head = {};  // empty unless the source is a sweep
};
// Returns names and values of the head; null for an empty one.
Json head_json(const StudyHead& head);
// Returns the whole answer, including every rate of every minibatch.
Json answer_members(const StudyAnswer& answer);
// Returns the text of the whole answer, with its source.
std::string answer_json(const StudyAnswer& answer, const AnswerSource& source);

}  // namespace kb
