// What the programs of the table's recipes are made of. They include nothing else, so that each compiles in a moment.
#pragma once

namespace kb {

struct Recipe;

// Does what run_recipe (program.h) does with the recipe that `make` returns, a function of recipes/papers/recipes.inc.
int run_listed_recipe(Recipe (*make)(), int argc, char** argv);

}  // namespace kb
