#include "recipes/run/command_words.h"

namespace kb {

std::string shell_quoted(const std::string& word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string start_words(const Recipe& recipe) {
  return recipe.program.empty() ? "./run " + recipe.name : shell_quoted(recipe.program);
}

std::string tool_words(const Recipe& recipe, const std::string& tool) {
  return recipe.program.empty() ? "./run " + tool : shell_quoted(recipe.program) + " " + tool;
}

}  // namespace kb
