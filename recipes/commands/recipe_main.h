// The program of a recipe of the table includes this header alone, so that it compiles in a moment.
#pragma once

namespace kb {

struct Recipe;

// Does what run_recipe (program.h) does with the recipe that `make` returns, a function of recipes/papers/recipes.inc.
int run_listed_recipe(Recipe (*make)(), int argc, char** argv);

}  // namespace kb
