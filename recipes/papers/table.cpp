#include "recipes/papers/table.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/error.h"
#include "recipes/task/suggest.h"

namespace kb {

std::vector<Recipe> all_recipes() {
  return {
#define KB_RECIPE(name) name(),
#include "recipes/papers/recipes.inc"
  };
}

bool is_listed(const std::string& name) {
  const std::vector<Recipe> recipes = all_recipes();
  return std::any_of(recipes.begin(), recipes.end(), [&](const Recipe& recipe) { return recipe.name == name; });
}

Recipe find_recipe(const std::string& name) {
  std::vector<std::string> names;
  for (Recipe& recipe : all_recipes()) {
    if (recipe.name == name) return recipe;
    names.push_back(recipe.name);
  }
  throw Error(fmt::format("there is no recipe '{}'{}", name, suggestion(name, names)));
}

}  // namespace kb
