// Suggests a known word for a mistyped one.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace kb {

// Returns the Levenshtein distance: the least number of insertions, deletions and exchanges of one character.
int edit_distance(std::string_view a, std::string_view b);

// Returns the nearest of `words`, or "" if none is within a distance of 1 + word.size() / 3. The distance is
// edit_distance(), but 1 to a longer word that contains `word`, if that has at least 3 characters.
std::string nearest(std::string_view word, const std::vector<std::string>& words);

// Returns the end of a message: "; did you mean 'minibatch'?", or "" if no word is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& words);
// Returns the end of a message: "; did you mean 'minibatch'?", or "; there are a, b, c" if no word is near.
std::string suggestion(std::string_view word, const std::vector<std::string>& words);

}  // namespace kb
