#include "recipes/config/preset.h"

#include "recipes/config/group_rows.h"
#include "recipes/config/learning.h"
#include "runtime/options.h"

namespace kb {
namespace {

constexpr const char *kMinibatch = "--minibatch", *kDataset = "--dataset";

GivenFlags pairs(const std::vector<std::string>& words) {
  ensure(words.size() % 2 == 0, "a preset has a flag without its value");
  GivenFlags given;
  for (size_t i = 0; i < words.size(); i += 2) given[words[i]] = words[i + 1];
  return given;
}

RunConfig unset_config(const Recipe& recipe) {
  const Defaults& defaults = recipe.defaults;
  RunConfig config{config_of(defaults, rules_of(recipe)), {}, {}, {}};
  config.data.dataset = defaults.dataset;
  if (defaults.augment != "none")
    for (const std::string& kind : comma_separated(defaults.augment))
      config.data.augment.push_back(choice_of("augment", kAugmentKinds, kind));
  if (recipe.task)
    config.data.dataset = recipe.name;
  else
    config.data.path = RuntimeOptions::from_environment().data_dir.string();
  config.data.options = OptionValues(recipe.options);
  return config;
}

}  // namespace

RunConfig preset_config(const Recipe& recipe, const PresetChoice& choice) {
  RunConfig config = unset_config(recipe);
  config.data.options = choice.options;
  if (recipe.preset) {
    const GivenFlags own = pairs(recipe.preset(choice).flags);
    read_flags(flag_table(recipe), own, config);
    read_group_flags(recipe, own, config);
  }
  if (choice.minibatch) config.batch.minibatch = *choice.minibatch;
  config.data.dataset = choice.dataset;
  return config;
}

RunConfig preset_config(const Recipe& recipe, const GivenFlags& given) {
  GivenFlags choosing;
  std::vector<std::string> names = {kMinibatch, kDataset};
  for (const RecipeOption& option : recipe.options) names.push_back("--" + option.name);
  for (const std::string& name : names)
    if (const auto at = given.find(name); at != given.end()) choosing.insert(*at);
  RunConfig chosen = unset_config(recipe);
  read_flags(flag_table(recipe), choosing, chosen);
  PresetChoice choice{chosen.data.options, {}, chosen.data.dataset};
  if (choosing.contains(kMinibatch)) choice.minibatch = chosen.batch.minibatch;
  return preset_config(recipe, choice);
}

std::vector<std::string> preset_notes(const Recipe& recipe, const RunConfig& config) {
  if (!recipe.preset) return {};
  return recipe.preset({config.data.options, config.batch.minibatch, config.data.dataset}).notes;
}

}  // namespace kb
