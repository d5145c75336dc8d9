#include "recipes/config/config_check.h"

#include "recipes/config/flag_rows.h"

namespace kb {

// A row's bounds are in what reads it: each member is printed, and read anew.
void check_values(const RunConfig& config, const std::vector<Optimizer>& optimizers) {
  RunConfig given = config;
  given.dataset.clear();
  if (!given.warmup_from) given.warmup_from = given.warmup_start;
  Recipe recipe;
  recipe.optimizers = optimizers;
  RunConfig read = given;
  for (const FlagRow& row : flag_table(recipe)) {
    const bool is_switch = row.text.value.empty();
    if (const std::string value = row.print(given); !is_switch && !value.empty()) row.read(read, value);
  }
}

}  // namespace kb
