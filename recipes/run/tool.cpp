#include "recipes/run/tool.h"

#include <fmt/format.h>

#include <filesystem>

#include "recipes/papers/table.h"
#include "runtime/atomic_file.h"

namespace kb {
namespace {

std::string recipe_names() {
  std::string names;
  for (const Recipe& recipe : all_recipes()) names += (names.empty() ? "" : ", ") + recipe.name;
  return names;
}

}  // namespace

std::optional<ToolCall> parse_tool_call(const std::string& tool, const std::vector<std::string>& arguments,
                                        const std::vector<ToolSwitch>& switches) {
  const std::string usage = fmt::format("./run {} RECIPE", tool);
  if (arguments.empty()) throw UsageError(fmt::format("usage: {} [flags]; recipes: {}", usage, recipe_names()));
  if (arguments[0] == "--help" || arguments[0] == "-h") {
    fmt::print("usage: {0} [flags]; recipes: {1}\n{0} --help explains the flags\n", usage, recipe_names());
    return std::nullopt;
  }
  if (arguments[0].starts_with("-"))
    throw UsageError(fmt::format("expected a recipe before '{}'; recipes: {}", arguments[0], recipe_names()));
  ToolCall call{find_recipe(arguments[0]), {}};
  std::optional<RunConfig> config = parse_flags(call.recipe, fmt::format("./run {} {}", tool, call.recipe.name),
                                                {arguments.begin() + 1, arguments.end()}, switches);
  if (!config) return std::nullopt;
  call.config = std::move(*config);
  return call;
}

void write_dumps(const RunConfig& config, const std::vector<DumpFile>& dumps) {
  if (!config.out.empty()) std::filesystem::create_directories(config.out);
  for (const DumpFile& dump : dumps) {
    if (config.out.empty())
      fmt::print("\n==> {} <==\n{}", dump.name, dump.text);
    else
      write_file_atomically(std::filesystem::path(config.out) / dump.name, dump.text);
  }
}

}  // namespace kb
