// Regular expressions (ECMAScript's grammar) in tests: <regex> takes seconds to compile wherever it is included.
#pragma once
#include <string>
#include <vector>

namespace kb::test {

// It holds the whole match, and behind it what each group of the expression matched.
using Match = std::vector<std::string>;

// Returns all matches in the text, from left to right.
std::vector<Match> all_matches(const std::string& text, const std::string& expression);
// Returns the first match; it is empty if there is none.
Match first_match(const std::string& text, const std::string& expression);
// Returns the match of the whole text; it is empty if the text is no match.
Match whole_match(const std::string& text, const std::string& expression);
// Returns the text without its matches.
std::string without_matches(const std::string& text, const std::string& expression);

}  // namespace kb::test
