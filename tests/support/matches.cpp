#include "tests/support/matches.h"

#include <regex>

namespace kb::test {
namespace {

Match groups_of(const std::smatch& match) { return {match.begin(), match.end()}; }

}  // namespace

std::vector<Match> all_matches(const std::string& text, const std::string& expression) {
  const std::regex regex(expression);
  std::vector<Match> matches;
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at)
    matches.push_back(groups_of(*at));
  return matches;
}

Match first_match(const std::string& text, const std::string& expression) {
  std::smatch match;
  return std::regex_search(text, match, std::regex(expression)) ? groups_of(match) : Match();
}

Match whole_match(const std::string& text, const std::string& expression) {
  std::smatch match;
  return std::regex_match(text, match, std::regex(expression)) ? groups_of(match) : Match();
}

std::string without_matches(const std::string& text, const std::string& expression) {
  return std::regex_replace(text, std::regex(expression), "");
}

}  // namespace kb::test
