// The recipes by name. Each has its own file, with model, defaults and paper, and a row in recipes.inc.
#pragma once
#include <string>
#include <vector>

#include "recipes/task/model.h"

namespace kb {

#define KB_RECIPE(name) Recipe name();
#include "recipes/papers/recipes.inc"

std::vector<Recipe> all_recipes();
bool is_listed(const std::string& name);
// Returns the recipe of that name. Throws Error with the nearest name if there is none.
Recipe find_recipe(const std::string& name);

}  // namespace kb
