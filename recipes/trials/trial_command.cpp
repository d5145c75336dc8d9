#include "recipes/trials/trial_command.h"

#include <fmt/format.h>

#include "recipes/config/values.h"
#include "recipes/papers/table.h"
#include "recipes/run/guarded_main.h"
#include "recipes/run/trainer.h"
#include "recipes/trials/study_process.h"

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
  if (arguments.recipe) return train_recipe(*arguments.recipe, words);
  const Recipe recipe = find_recipe(next("a recipe"));
  return train_recipe(recipe, words, {"rank", recipe.name});
}

int rank_command(const ToolArguments& arguments) {
  if (arguments.words.empty()) throw UsageError("rank: expected a recipe");
  return train_recipe(find_recipe(arguments.words.front()), {arguments.words.begin() + 1, arguments.words.end()});
}

std::optional<int> trial_or_rank(const ToolArguments& arguments) {
  const std::string first = arguments.recipe || arguments.words.empty() ? "" : arguments.words.front();
  if (first != "trial" && first != "rank") return std::nullopt;
  const ToolArguments rest{first, {}, {arguments.words.begin() + 1, arguments.words.end()}};
  return guarded_main(first, [&] { return first == "trial" ? trial_command(rest) : rank_command(rest); });
}

}  // namespace kb
