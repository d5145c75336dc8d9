// What a study answers, in words: for a terminal of 80 columns, and in parts for the page.
#pragma once
#include <string>
#include <vector>

#include "recipes/answer/study_answer.h"

namespace kb {

// "12345 [12000, 12700]"; ">= 12000", "<= 12700" where an end is open, "unknown" where both are.
std::string estimate_text(const Estimate& estimate);

std::string law_text(const CriticalBatch& fit);

// One number of the fit: of the answer, and where k was free of the fit with k = 1.
struct FitRow {
  std::string name, answer, of_one;
};
std::vector<FitRow> fit_rows(const CriticalBatch& fit);

// A sentence each: how the fit was made and what it leaves, whether the law with k = 1 holds, what bounds mean, where
// regions end, the linear fit beside it, what did not reach the target.
std::vector<std::string> answer_sentences(const StudyAnswer& answer);

// Tables of steps and of rates, the fit, the sentences.
std::string answer_text(const StudyAnswer& answer);

}  // namespace kb
