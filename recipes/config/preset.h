// Defaults of a recipe that depend on its own options, the minibatch and the data set. They are flags of the recipe's
// preset, which override Recipe::defaults; flags of a command line override both.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "recipes/config/flag_rows.h"

namespace kb {

using GivenFlags = std::map<std::string, std::string>;  // values of flags by their names ("--lr"); "" for a switch

// Returns the defaults for a choice; --data of images comes from the environment.
RunConfig preset_config(const Recipe& recipe, const PresetChoice& choice);
// Returns the defaults for the choice that the given flags make. Throws UsageError if a flag has a wrong value.
RunConfig preset_config(const Recipe& recipe, const GivenFlags& given);
// Returns the lines for people that the preset has for such a configuration.
std::vector<std::string> preset_notes(const Recipe& recipe, const RunConfig& config);

// Sets members of `config` from the given flags, in the order of the table, because an optimizer sets defaults of later
// flags. Throws UsageError if a flag has a wrong value.
void read_flags(const std::vector<FlagRow>& table, const GivenFlags& given, RunConfig& config);

}  // namespace kb
