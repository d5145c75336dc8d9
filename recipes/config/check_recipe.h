// Checks what a program says of its recipe and its TrainConfig, before anything reads it.
#pragma once
#include "recipes/config/train_config.h"
#include "recipes/task/model.h"
#include "recipes/task/rules.h"

namespace kb {

// Throws Error for a recipe without a model and a task; for an optimizer without a rule or a schedule without a
// multiplier; for one of these, or an option, whose name is no word or that of another; and for an option that is
// called like a flag of every recipe. An optimizer or schedule may stand in for a built-in one.
void check_recipe(const Recipe& recipe);

// Checks a TrainConfig that a program filled against the bounds that flags have on a command line. Throws UsageError,
// which names the member, if its flag would refuse its value, or if it is a switch that has no effect without another
// flag. `own` are the task's own rules. A member without a value is not checked.
void check_values(const TrainConfig& config, const Rules& own);

}  // namespace kb
