// One training of a study, started by its executor, a process: PROGRAM trial PROCESS [flags], ./hour trial PROCESS
// RECIPE [flags]
#include <fmt/format.h>

#include "recipes/commands/commands.h"
#include "recipes/config/values.h"
#include "recipes/papers/table.h"
#include "recipes/run/trainer.h"
#include "recipes/study/study_process.h"

namespace kb {

int trial_command(const ToolArguments& arguments) {
  std::vector<std::string> words = arguments.words;
  const auto next = [&](const char* expected) {
    if (words.empty()) throw UsageError(fmt::format("trial: expected {}", expected));
    const std::string word = words.front();
    words.erase(words.begin());
    return word;
  };
  constexpr const char* kExecutor = "the number of the process that started it";
  become_trial(parse_whole("trial", next(kExecutor), kExecutor, 1));
  return train_recipe(arguments.recipe ? *arguments.recipe : find_recipe(next("a recipe")), words);
}

}  // namespace kb
