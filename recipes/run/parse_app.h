// Command lines of tools without a recipe.
#pragma once
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace kb {

// Parses the words behind the program's name into the variables of `app`. Returns false where help was asked for and
// printed. Throws UsageError, which ends with `usage`, for words that do not fit.
bool parse_app(CLI::App& app, std::vector<std::string> words, const std::string& usage);

}  // namespace kb
