// Reads the flags of a run that its manifest keeps as words (see flag_words).
#pragma once
#include <string>
#include <vector>

#include "recipes/config/flags.h"
#include "runtime/json_reader.h"

namespace kb {

// Returns the flags of these words. Throws UsageError for every word that flag_words does not write, and for values
// that are not taken: a manifest may come from anywhere, and its words must not write a file, print help or start
// anything.
RunConfig recorded_config(const Recipe& recipe, const std::vector<std::string>& words);

// Returns the words of a manifest's "arguments"; if it has none, the words that its "flags" stand for.
std::vector<std::string> recorded_words(const JsonValue& manifest);

}  // namespace kb
