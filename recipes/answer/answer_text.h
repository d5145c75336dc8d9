// The answer of a study in words: for a terminal of 80 columns, and in parts for the page.
#pragma once
#include <string>
#include <vector>

#include "recipes/answer/study_answer.h"

namespace kb {

// Returns notes on where an answer is less sure than its intervals say: runs that were given up contradict the fit;
// runs that missed the target are left out; seeds tie, as steps that are rounded to evaluations do; seeds do not
// scatter equally.
std::vector<std::string> answer_notes(const StudyAnswer& answer);

// Returns "12345 [12000, 12700]"; ">= 12000" or "<= 12700" if an end of the interval is open, "unknown" if both are.
std::string estimate_text(const Estimate& estimate);

// Returns "[0.02, 0.08]"; ".." stands for an open end.
std::string ends_text(const ConfidenceInterval& interval);
// Returns "reached in 1 of 2 runs (110 steps), 1 diverged" or "not reached in 2 runs".
std::string missed_text(const MissedResult& one);

// Returns "95 %", or "95 % if k = 1" for intervals of a fit that takes k as 1 without a test.
const char* level_text(const ScalingFit& fit);

// Returns the formula of the fitted law.
std::string law_text(const CriticalBatch& fit);

// One number of the fit: its name, its value in the answer and, if k was free, its value in the fit with k = 1.
struct FitRow {
  std::string name, answer, of_one;
};
std::vector<FitRow> fit_rows(const CriticalBatch& fit);

// Returns sentences: notes (recipes/answer/answer_text.h), how the fit was made and what it leaves, whether the law
// with k = 1 holds, what bounds mean, where regions end, the linear fit beside it, which minibatches did not reach the
// target.
std::vector<std::string> answer_sentences(const StudyAnswer& answer);

// Returns tables of steps and of rates, the fit, and the sentences.
std::string answer_text(const StudyAnswer& answer);

}  // namespace kb
