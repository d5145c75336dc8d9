// The text of --help, from the rows of the flags.
#pragma once
#include <string>
#include <vector>

#include "recipes/config/flags.h"

namespace kb {

// Returns lines of at most 80 characters, unless a single word is longer: flags under headings, an idea a line,
// defaults in brackets. `usage` stands behind "usage: "; `switches` are a tool's own flags.
std::string help_text(const Recipe& recipe, const std::string& usage, const std::vector<ToolSwitch>& switches);

}  // namespace kb
