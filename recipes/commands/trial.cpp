// One training of a study, started by its executor: PROGRAM trial [flags], ./hour trial RECIPE [flags]
#include "recipes/commands/commands.h"
#include "recipes/papers/table.h"
#include "recipes/run/trainer.h"
#include "recipes/study/study_process.h"

namespace kb {

int trial_command(const ToolArguments& arguments) {
  become_trial();
  if (arguments.recipe) return train_recipe(*arguments.recipe, arguments.words);
  if (arguments.words.empty()) throw UsageError("trial: expected a recipe");
  return train_recipe(find_recipe(arguments.words.front()), {arguments.words.begin() + 1, arguments.words.end()});
}

}  // namespace kb
