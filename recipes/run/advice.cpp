#include "recipes/run/advice.h"

#include <fmt/format.h>

#include <optional>

#include "recipes/config/learning.h"
#include "recipes/config/preset.h"
#include "recipes/run/command_words.h"

namespace kb {
namespace {

// Returns the defaults for a choice, or none if the recipe's preset refuses it.
std::optional<RunConfig> allowed_config(const Recipe& recipe, const PresetChoice& choice) {
  try {
    return preset_config(recipe, choice);
  } catch (const UsageError&) {
    return {};
  }
}

// Returns the options that need not be given beside the others of `config`: those of its preset, else of the recipe.
OptionValues options_beside(const Recipe& recipe, const RunConfig& config) {
  const OptionValues own(recipe.options);
  OptionValues result = own;
  for (const RecipeOption& option : recipe.options) {
    OptionValues others = config.data.options;
    others.set_as(option.name, own);
    const PresetChoice choice{others, config.batch.minibatch, config.data.dataset};
    if (const auto without = allowed_config(recipe, choice)) result.set_as(option.name, without->data.options);
  }
  return result;
}

// Returns the values with which flags of `config` are compared; a command need not give an equal flag. They are the
// defaults for the options, minibatch, data set and optimizer of `config`; for the last three themselves those of the
// recipe.
RunConfig defaults_beside(const Recipe& recipe, const RunConfig& config) {
  RunConfig defaults = preset_config(recipe, {config.data.options, config.batch.minibatch, config.data.dataset});
  const std::string own = defaults.learning.optimizer;
  if (own != config.learning.optimizer)
    use_optimizer(recipe.defaults, recipe.optimizers, defaults.learning, config.learning.optimizer);
  defaults.learning.optimizer = own;
  defaults.data.options = options_beside(recipe, config);
  defaults.batch.minibatch = preset_config(recipe, {config.data.options, {}, config.data.dataset}).batch.minibatch;
  defaults.data.dataset = default_config(recipe).data.dataset;
  return defaults;
}

constexpr int64_t kGrowth = 4;  // the minibatch of the next run over that of this one

// Returns the changes by the linear scaling rule (Goyal et al. 2017, section 2.1): a larger minibatch, as many samples.
std::map<std::string, std::string> linear_rule(const Recipe& recipe, const RunConfig& config) {
  const int64_t base = config.learning.base_minibatch > 0 ? config.learning.base_minibatch : config.batch.minibatch;
  std::map<std::string, std::string> changes = {{"--minibatch", fmt::to_string(kGrowth * config.batch.minibatch)},
                                                {"--base-minibatch", fmt::to_string(base)},
                                                {"--lr", ""}};
  const auto fewer = [](int64_t steps) { return fmt::to_string((steps + kGrowth - 1) / kGrowth); };
  if (config.length.steps > 0) changes["--steps"] = fewer(config.length.steps);
  if (config.learning.warmup_steps > 0) changes["--warmup-steps"] = fewer(config.learning.warmup_steps);
  if (config.learning.lr != defaults_beside(recipe, config).learning.lr)
    changes["--base-lr"] = fmt::format("{}", config.learning.lr);
  if (config.learning.scaling != "linear") changes["--scaling"] = "linear";
  if (config.learning.warmup == "none") changes["--warmup"] = "gradual";
  if (config.learning.warmup_epochs == 0 && config.learning.warmup_steps == 0) changes["--warmup-epochs"] = "1";
  return changes;
}

}  // namespace

std::string command_with(const Recipe& recipe, const RunConfig& config,
                         const std::map<std::string, std::string>& changes) {
  RunConfig changed = config;
  if (const auto minibatch = changes.find("--minibatch"); minibatch != changes.end())
    changed.batch.minibatch = parse_whole("--minibatch", minibatch->second, whole_expectation(1), 1);
  const RunConfig defaults = defaults_beside(recipe, changed);
  std::string text = start_words(recipe);
  for (const FlagRow& row : flag_table(recipe)) {
    const auto change = changes.find(row.text.name);
    std::string value = change == changes.end() ? row.print(config) : change->second;
    if (change == changes.end()) {
      // --batch-norm has FlagEffect::call because a manifest expresses it by --per-worker; a command repeats the flag.
      const bool repeats = row.effect != FlagEffect::call || row.text.name == "--batch-norm";
      if (!repeats || value == row.print(defaults) || !row.has_effect(config)) continue;
    }
    if (value.empty()) continue;
    text += " " + row.text.name;
    if (!row.text.value.empty()) text += " " + shell_quoted(value);
  }
  return text;
}

std::string what_next(const Recipe& recipe, const RunConfig& config, const RunPlan& plan, const std::string& writer) {
  std::string text;
  const auto add = [&](const std::string& command, const char* why) {
    text += fmt::format("{}{}   {}", text.empty() ? "next: " : "\n      ", command, why);
  };
  if (!writer.empty()) add(writer, "what the model writes");
  const int64_t larger = kGrowth * config.batch.minibatch;
  if (larger <= plan.samples && allowed_config(recipe, {config.data.options, larger, config.data.dataset}))
    add(command_with(recipe, config, linear_rule(recipe, config)), "the linear scaling rule");
  add(command_with(recipe, config, {{"--seed", fmt::to_string(config.arithmetic.seed + 1)}}),
      "how much of the error is chance");
  add(command_with(recipe, config, {{"--dry-run", "true"}, {"--dump", "schedule"}}), "what was compiled");
  return text;
}

}  // namespace kb
