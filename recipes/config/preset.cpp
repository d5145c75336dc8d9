#include "recipes/config/preset.h"

#include "recipes/config/learning.h"
#include "runtime/options.h"

namespace kb {
namespace {

constexpr const char* kMinibatch = "--minibatch";

GivenFlags pairs(const std::vector<std::string>& words) {
  ensure(words.size() % 2 == 0, "a preset has a flag without its value");
  GivenFlags given;
  for (size_t i = 0; i < words.size(); i += 2) given[words[i]] = words[i + 1];
  return given;
}

RunConfig unset_config(const Recipe& recipe) {
  RunConfig config = config_of(recipe.defaults, recipe.optimizers);
  if (recipe.task)
    config.dataset = recipe.name;
  else
    config.data = RuntimeOptions::from_environment().data_dir.string();
  config.options = OptionValues(recipe.options);
  return config;
}

}  // namespace

void read_flags(const std::vector<FlagRow>& table, const GivenFlags& given, RunConfig& config) {
  for (const FlagRow& row : table)
    if (const auto at = given.find(row.text.name); at != given.end()) row.read(config, at->second);
}

RunConfig preset_config(const Recipe& recipe, const OptionValues& options, std::optional<int64_t> minibatch) {
  RunConfig config = unset_config(recipe);
  config.options = options;
  if (recipe.preset) read_flags(flag_table(recipe), pairs(recipe.preset(options, minibatch).flags), config);
  if (minibatch) config.minibatch = *minibatch;
  return config;
}

RunConfig preset_config(const Recipe& recipe, const GivenFlags& given) {
  RunConfig chosen = unset_config(recipe);
  GivenFlags choosing;
  for (const RecipeOption& option : recipe.options)
    if (const auto at = given.find("--" + option.name); at != given.end()) choosing.insert(*at);
  const auto minibatch = given.find(kMinibatch);
  if (minibatch != given.end()) choosing.insert(*minibatch);
  read_flags(flag_table(recipe), choosing, chosen);
  return preset_config(recipe, chosen.options,
                       minibatch == given.end() ? std::nullopt : std::optional(chosen.minibatch));
}

std::vector<std::string> preset_notes(const Recipe& recipe, const RunConfig& config) {
  return recipe.preset ? recipe.preset(config.options, config.minibatch).notes : std::vector<std::string>();
}

}  // namespace kb
