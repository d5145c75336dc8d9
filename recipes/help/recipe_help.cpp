// recipe_help RECIPE [flags] --help [all] prints the help of a recipe's program, and is built in a fifth of the time of
// that program.
#include <fmt/format.h>

#include "recipes/config/flags.h"
#include "recipes/papers/table.h"

namespace {

int help(const std::vector<std::string>& words) {
  if (words.empty()) throw kb::UsageError("expected RECIPE [flags] --help [all]");
  const kb::Recipe recipe = kb::find_recipe(words[0]);
  if (kb::parse_flags(recipe, "./run " + recipe.name, {words.begin() + 1, words.end()}))
    throw kb::UsageError("expected --help among the words behind the recipe");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return help({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    fmt::print(stderr, "recipe_help: {}\n", error.what());
    return 2;
  }
}
