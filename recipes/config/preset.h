// Defaults of a recipe as its own options, the minibatch and the data set choose them: the flags of its preset, laid
// over Recipe::defaults. Flags of a command line are laid over both.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "recipes/config/flag_rows.h"

namespace kb {

using GivenFlags = std::map<std::string, std::string>;  // values by "--name"; that of a switch is ""

// --data of images is that of the environment.
RunConfig preset_config(const Recipe& recipe, const PresetChoice& choice);
// Likewise, for what is chosen by the given flags. Throws UsageError.
RunConfig preset_config(const Recipe& recipe, const GivenFlags& given);
// Lines of the preset that a run with these flags has, for a person.
std::vector<std::string> preset_notes(const Recipe& recipe, const RunConfig& config);

// Reads the given flags in the order of the table: an optimizer brings defaults of the flags behind it. Throws
// UsageError.
void read_flags(const std::vector<FlagRow>& table, const GivenFlags& given, RunConfig& config);

}  // namespace kb
