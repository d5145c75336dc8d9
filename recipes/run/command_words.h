// Parts of a command line that a person can copy into a shell.
#pragma once
#include <string>

#include "recipes/task/model.h"

namespace kb {

// Returns the word as a POSIX shell reads it back: in single quotes where it holds anything but plain characters.
std::string shell_quoted(const std::string& word);

// Returns the words that stand before the flags on a command line that runs the recipe.
std::string start_words(const Recipe& recipe);
// Returns the words that begin a command line of a tool, such as "export", for runs of the recipe.
std::string tool_words(const Recipe& recipe, const std::string& tool);

}  // namespace kb
