// Checks what a program says of its recipe, before anything reads it.
#pragma once
#include "recipes/task/model.h"

namespace kb {

// Throws Error for a recipe without a model and a task; for an optimizer without a rule or a schedule without a
// multiplier; for one of these, or an option, whose name is no word or that of another; and for an option that is
// called like a flag of every recipe. An optimizer or schedule may stand in for a built-in one.
void check_recipe(const Recipe& recipe);

}  // namespace kb
