#include "recipes/run/parse_app.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "recipes/config/values.h"

namespace kb {

bool parse_app(CLI::App& app, std::vector<std::string> words, const std::string& usage) {
  std::reverse(words.begin(), words.end());  // as CLI11 takes them
  try {
    app.parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return false;
  } catch (const CLI::ParseError& error) {
    throw UsageError(fmt::format("{}; usage: {}", error.what(), usage));
  }
  return true;
}

}  // namespace kb
