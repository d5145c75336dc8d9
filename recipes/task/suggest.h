// The nearest right word for a mistyped one.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace kb {

// Levenshtein's: insertions, deletions and exchanges of one character.
int edit_distance(std::string_view a, std::string_view b);

// The nearest word, where one that holds all of `word` is one mistake away; empty where none is within 1 + size / 3.
std::string nearest(std::string_view word, const std::vector<std::string>& words);

// "; did you mean 'minibatch'?", or "; there are a, b, c" where nothing is near.
std::string suggestion(std::string_view word, const std::vector<std::string>& words);

}  // namespace kb
