// Sentences that are wrapped for a terminal.
#pragma once
#include <string>

namespace kb {

// Returns the label and the words after it, on lines of at most 79 columns; further lines begin under the first word.
std::string wrapped(const std::string& label, const std::string& words);

}  // namespace kb
