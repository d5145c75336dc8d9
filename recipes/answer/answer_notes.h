// Notes on where an answer is less sure than its intervals say.
#pragma once
#include <string>
#include <vector>

#include "recipes/answer/study_answer.h"

namespace kb {

// Returns sentences: runs that were given up contradict the fit; runs that missed the target are left out; seeds tie,
// as steps that are rounded to evaluations do; seeds do not scatter equally.
std::vector<std::string> answer_notes(const StudyAnswer& answer);

}  // namespace kb
