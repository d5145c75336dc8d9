#include "recipes/config/check_recipe.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/error.h"
#include "recipes/config/flag_names.h"
#include "recipes/config/flag_rows.h"
#include "recipes/config/flags.h"
#include "recipes/config/learning_rows.h"

namespace kb {
namespace {

// Returns whether the name begins with a letter and has letters, digits, '-' and '_' alone.
bool is_word(const std::string& name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return !name.empty() && is_letter(name[0]) && std::all_of(name.begin(), name.end(), [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

// Throws Error unless each name is a word that no other has and that is not among those of Kilobatch.
void check_names(const std::string& recipe, const char* what, const std::vector<std::string>& names,
                 const std::vector<std::string>& taken) {
  for (const std::string& name : names) {
    const char* fault = !is_word(name)                                     ? "is no word"
                        : std::count(names.begin(), names.end(), name) > 1 ? "stands there twice"
                        : std::count(taken.begin(), taken.end(), name) > 0 ? "is the name of one that every recipe has"
                                                                           : nullptr;
    if (!fault) continue;
    throw Error(
        fmt::format("recipe {}: its {} '{}' {}\n  expected: a name of its own: letters, digits, '-' and '_'\n"
                    "  got:      '{}'",
                    recipe, what, name, fault, name));
  }
}

std::vector<std::string> names_without_dashes(const std::vector<FlagRow>& rows) {
  std::vector<std::string> names;
  for (const FlagRow& row : rows) names.push_back(row.text.name.substr(2));
  return names;
}

std::vector<std::string> flags_of_all(Recipe recipe) {
  recipe.options.clear();
  std::vector<std::string> names = names_without_dashes(flag_table(recipe));
  names.push_back("help");
  return names;
}

// Throws Error unless the flag of each number of an optimizer is its alone.
void check_numbers_of_optimizers(const Recipe& recipe) {
  const std::vector<std::string> numbers = names_without_dashes(hyper_parameter_rows(recipe));
  std::vector<std::string> others = flags_of_all(recipe);
  for (const std::string& number : numbers) others.erase(std::find(others.begin(), others.end(), number));
  check_names(recipe.name, "optimizer's number", numbers, others);
}

}  // namespace

void check_recipe(const Recipe& recipe) {
  if (!recipe.model && !recipe.task)
    throw Error(fmt::format("recipe {} has no model\n  expected: Recipe::model, or Recipe::task\n  got:      neither",
                            recipe.name));
  for (const Optimizer& optimizer : recipe.optimizers) update_rule(optimizer);
  for (const ScheduleShape& schedule : recipe.schedules)
    if (!schedule.multiplier)
      throw Error(fmt::format("schedule {} has no multiplier (ScheduleShape::multiplier)", schedule.name));
  check_names(recipe.name, "optimizer", names_of(recipe.optimizers), {});
  check_numbers_of_optimizers(recipe);
  check_names(recipe.name, "schedule", names_of(recipe.schedules), {});
  check_names(recipe.name, "option", names_of(recipe.options), flags_of_all(recipe));
}

// Checks each member by printing it and reading the text back, because the function that reads a row checks its bounds.
// A switch has no bounds, but may need another flag to have an effect. This need is not checked for other members,
// because they have values whether anybody asked for them or not.
static void check_rows(RunConfig given, const Rules& own) {
  if (!given.learning.warmup_from) given.learning.warmup_from = given.learning.warmup_start;
  Recipe recipe;
  recipe.optimizers = own.optimizers;
  recipe.schedules = own.schedules;
  recipe.is_ragged = true;
  RunConfig read = given;
  const std::vector<FlagRow> table = flag_table(recipe);
  for (const FlagRow& row : table) {
    const std::string value = row.print(given);
    const bool is_switch = row.text.value.empty();
    if (!is_switch && !value.empty()) row.read(read, value);
    if (is_switch && value == "true" && !row.has_effect(given)) refuse_without_effect(row, table, given);
  }
}

void check_values(const TrainConfig& config, const Rules& own) {
  try {
    check_rows({config, {}, {}, {}}, own);
  } catch (const UsageError& error) {
    throw UsageError(with_members(error.what()));
  }
}

}  // namespace kb
