// Sentences for a terminal.
#pragma once
#include <string>

namespace kb {

// Words behind a label, on lines of at most 79 columns that begin under the first word.
std::string wrapped(const std::string& label, const std::string& words);

}  // namespace kb
