#include "recipes/config/config_check.h"

#include "recipes/config/flag_names.h"
#include "recipes/config/flag_rows.h"

namespace kb {

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
