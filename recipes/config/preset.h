// Defaults of a recipe that depend on its own options, the minibatch and the data set. They are flags of the recipe's
// preset, which override Recipe::defaults; flags of a command line override both.
#pragma once
#include <string>
#include <vector>

#include "recipes/config/flag_rows.h"

namespace kb {

// Returns the defaults for a choice; --data of images comes from the environment.
RunConfig preset_config(const Recipe& recipe, const PresetChoice& choice);
// Returns the defaults for the choice that the given flags make. Throws UsageError if a flag has a wrong value.
RunConfig preset_config(const Recipe& recipe, const GivenFlags& given);
// Returns the lines for people that the preset has for such a configuration.
std::vector<std::string> preset_notes(const Recipe& recipe, const RunConfig& config);

}  // namespace kb
