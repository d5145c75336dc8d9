// What a study answers, in words: for a terminal of 80 columns, and in parts for the page.
#pragma once
#include <string>
#include <vector>

#include "recipes/answer/study_answer.h"

namespace kb {

// "12345 [12000, 12700]".
std::string estimate_text(const Estimate& estimate);
// A sentence each: how the fit was made and what it leaves, what its bounds mean, the linear fit beside it, where
// perfect scaling ends, the largest useful minibatch, what did not reach the target.
std::vector<std::string> answer_sentences(const StudyAnswer& answer, int64_t resamples);

// Tables of steps and of rates, the fit, the sentences.
std::string answer_text(const StudyAnswer& answer, int64_t resamples);

}  // namespace kb
