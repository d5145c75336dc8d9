// The flags of a run that its manifest keeps as words (see flag_words).
#pragma once
#include <string>
#include <vector>

#include "recipes/config/flags.h"

namespace kb {

// Throws UsageError for every word that flag_words does not write, and for values that are not taken: a manifest may
// come from anywhere, and its words are to write no file, print no help and start nothing.
RunConfig recorded_config(const Recipe& recipe, const std::vector<std::string>& words);

}  // namespace kb
