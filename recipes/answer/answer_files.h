// What a study answers, as files for programs.
#pragma once
#include <string>

#include "recipes/answer/study_answer.h"
#include "recipes/answer/study_head.h"

namespace kb {

// One line a minibatch that reached the target, at its best rate; a cell is empty where there is no such value:
//   minibatch, rate, setting (of whatever else was varied), steps (geometric mean over the runs), steps_low, steps_high
//   (95 %), samples, efficiency (samples of the base minibatch over these), region, fitted_steps, residual (steps over
//   the fitted ones, minus 1), linear_rate, sqrt_rate (from the base minibatch), diverged_from (least rate above the
//   best at which a run diverged), runs, runs_reached, seconds
// `study` reads it again as measurements.
std::string answer_csv(const StudyAnswer& answer);

struct AnswerSource {
  std::string command, file;
  StudyHead head = {};  // empty unless the source is a sweep
};
// All of it, every rate of every minibatch too.
std::string answer_json(const StudyAnswer& answer, const AnswerSource& source);

}  // namespace kb
