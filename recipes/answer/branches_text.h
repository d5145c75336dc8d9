// The answer of a run's branches in words: for a terminal of 80 columns, and in parts for the page.
#pragma once
#include <string>
#include <vector>

#include "recipes/answer/branches_answer.h"

namespace kb {

// Returns "41 (35 to 50)", "above 35" or "-", times `unit`.
std::string noise_text(const PlaceAnswer& one, int64_t unit = 1);

// Returns what a reader has to know of the answer: branches that noise may have decided about, places at which a
// smaller k lost and a larger one did not, or the branch with k = 1 diverged.
std::vector<std::string> branches_notes(const BranchesAnswer& answer);

// Returns sentences: how the local critical minibatch was found, the part of the noise scale, and which growths of the
// minibatch follow.
std::vector<std::string> branches_sentences(const BranchesAnswer& answer);

// Returns tables of the places and of all branches, the growths that follow with their command, and the sentences.
std::string branches_text(const BranchesAnswer& answer);

}  // namespace kb
