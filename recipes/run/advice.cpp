#include "recipes/run/advice.h"

#include <fmt/format.h>

#include "recipes/config/flag_rows.h"
#include "recipes/config/learning.h"
#include "recipes/run/command_words.h"

namespace kb {
namespace {

// The recipe's, with what the optimizer that `flags` name brings by itself.
Flags defaults_beside(const Recipe& recipe, const Flags& flags) {
  Flags defaults = default_flags(recipe);
  use_optimizer(recipe, defaults, flags.optimizer);
  defaults.optimizer = recipe.defaults.optimizer;
  return defaults;
}

std::map<std::string, std::string> linear_rule(const Recipe& recipe, const Flags& flags) {
  const int64_t base = flags.base_minibatch > 0 ? flags.base_minibatch : flags.minibatch;
  std::map<std::string, std::string> changes = {
      {"--minibatch", fmt::to_string(4 * flags.minibatch)}, {"--base-minibatch", fmt::to_string(base)}, {"--lr", ""}};
  if (flags.lr != defaults_beside(recipe, flags).lr) changes["--base-lr"] = fmt::format("{}", flags.lr);
  if (flags.scaling != "linear") changes["--scaling"] = "linear";
  if (flags.warmup == "none") changes["--warmup"] = "gradual";
  if (flags.warmup_epochs == 0) changes["--warmup-epochs"] = "1";
  return changes;
}

}  // namespace

std::string command_with(const Recipe& recipe, const Flags& flags, const std::map<std::string, std::string>& changes) {
  const Flags defaults = defaults_beside(recipe, flags);
  std::string text = start_words(recipe);
  for (const FlagRow& row : flag_table(recipe)) {
    const auto change = changes.find(row.text.name);
    std::string value = change == changes.end() ? row.print(flags) : change->second;
    if (change == changes.end()) {
      // --batch-norm is recorded as a part of --per-worker, and given as itself.
      const bool repeats = row.effect != FlagEffect::call || row.text.name == "--batch-norm";
      if (!repeats || value == row.print(defaults) || !row.has_effect(flags)) continue;
    }
    if (value.empty()) continue;
    text += " " + row.text.name;
    if (!row.text.value.empty()) text += " " + shell_quoted(value);
  }
  return text;
}

std::string what_next(const Recipe& recipe, const Flags& flags, const RunPlan& plan) {
  std::string text;
  const auto add = [&](const std::string& command, const char* why) {
    text += fmt::format("{}{}   {}", text.empty() ? "next: " : "\n      ", command, why);
  };
  if (4 * flags.minibatch <= plan.samples)
    add(command_with(recipe, flags, linear_rule(recipe, flags)), "the linear scaling rule");
  add(command_with(recipe, flags, {{"--seed", fmt::to_string(flags.seed + 1)}}), "how much of the error is chance");
  add(command_with(recipe, flags, {{"--dry-run", "true"}, {"--dump", "schedule"}}), "what was compiled");
  return text;
}

}  // namespace kb
