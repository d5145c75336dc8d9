#include "recipes/commands/program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "recipes/commands/recipe_main.h"
#include "recipes/config/check_recipe.h"
#include "recipes/config/values.h"
#include "recipes/papers/table.h"
#include "recipes/run/branch.h"
#include "recipes/run/command_words.h"
#include "recipes/run/guarded_main.h"
#include "recipes/run/trainer.h"
#include "recipes/task/suggest.h"
#include "recipes/tools/commands.h"
#include "recipes/trials/seeds.h"
#include "recipes/trials/study_process.h"

namespace kb {
namespace {

struct Command {
  const char* name;
  CommandFunction* run;
  bool is_for_users = true;  // false: programs start it
};
constexpr Command kCommands[] = {
    {"inspect", inspect_command},     {"bench", bench_command},         {"scale", scale_command},
    {"trace", trace_steps_command},   {"export", export_command},       {"predict", predict_command},
    {"sample", sample_command},       {"translate", translate_command}, {"curvature", curvature_command},
    {"sharpness", sharpness_command}, {"sweep", sweep_command},         {"trial", trial_command, false},
    {"rank", rank_command, false}};

const Command* find_command(const std::string& name) {
  for (const Command& command : kCommands)
    if (command.name == name) return &command;
  return nullptr;
}

// Throws UsageError, which names the commands, for a first word that is neither a command nor a flag.
void check_first_word(const std::string& word) {
  if (word.starts_with("-")) return;
  std::vector<std::string> names;
  for (const Command& command : kCommands)
    if (command.is_for_users) names.emplace_back(command.name);
  throw UsageError(
      fmt::format("the first word: expected a flag, or one of the commands {}, got '{}'{}\n  hint:     "
                  "--help explains the flags",
                  fmt::join(names, ", "), word, suggestion(word, names)));
}

// Trains once, or once under each seed of --seeds. Returns the exit code.
int train_or_study(const Recipe& recipe, const std::vector<std::string>& words) {
  const std::optional<RunConfig> config = parse_with_origin(recipe, start_words(recipe), words);
  if (!config) return 0;
  return config->looking.seeds.empty() ? train_recipe(recipe, words) : train_seeds(recipe, *config, words);
}

}  // namespace

int run_recipe(Recipe recipe, int argc, char** argv) {
  if (!is_listed(recipe.name)) recipe.program = argv[0];
  std::vector<std::string> words(argv + 1, argv + argc);
  return guarded_main(recipe.name, [&] {
    check_recipe(recipe);
    const Command* command = words.empty() ? nullptr : find_command(words.front());
    if (!command && !words.empty()) check_first_word(words.front());
    if (!command) return train_or_study(recipe, words);
    words.erase(words.begin());
    return command->run({command->name, recipe, words});
  });
}

int run_listed_recipe(Recipe (*make)(), int argc, char** argv) { return run_recipe(make(), argc, argv); }

}  // namespace kb
