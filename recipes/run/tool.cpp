#include "recipes/run/tool.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "recipes/config/help.h"
#include "recipes/papers/table.h"
#include "recipes/run/command_words.h"
#include "recipes/run/guarded_main.h"
#include "runtime/atomic_file.h"

namespace kb {
namespace {

bool asks_for_help(const std::string& word) { return word == "--help" || word == "-h"; }

std::string recipe_names() {
  std::string names;
  for (const Recipe& recipe : all_recipes()) names += (names.empty() ? "" : ", ") + recipe.name;
  return names;
}

}  // namespace

int tool_main(const char* name, CommandFunction* command, int argc, char** argv) {
  return guarded_main(name, [&] { return command({name, {}, {argv + 1, argv + argc}}); });
}

std::string tool_usage(const ToolArguments& arguments) {
  if (!arguments.recipe) return "./run " + arguments.tool;
  const Recipe& recipe = *arguments.recipe;
  return recipe.program.empty() ? fmt::format("./run {} {}", arguments.tool, recipe.name)
                                : fmt::format("{} {}", start_words(recipe), arguments.tool);
}

std::optional<ToolCall> parse_tool_call(const ToolArguments& arguments, const std::string& doc,
                                        const std::vector<ToolSwitch>& switches) {
  ToolArguments named = arguments;
  if (!named.recipe) {
    const std::string usage = tool_usage(arguments) + " RECIPE";
    if (named.words.empty()) throw UsageError(fmt::format("usage: {} [flags]; recipes: {}", usage, recipe_names()));
    const std::string first = named.words.front();
    if (asks_for_help(first)) {
      fmt::print("{}", help_text(fmt::format("{0}\n\nusage: {1} [flags]\nrecipes: {2}\n{1} --help explains the flags",
                                             doc, usage, recipe_names()),
                                 {}));
      return std::nullopt;
    }
    if (first.starts_with("-"))
      throw UsageError(fmt::format("expected a recipe before '{}'; recipes: {}", first, recipe_names()));
    named.recipe = find_recipe(first);
    named.words.erase(named.words.begin());
  }
  if (std::any_of(named.words.begin(), named.words.end(), asks_for_help)) fmt::print("{}\n", help_text(doc, {}));
  std::optional<RunConfig> config = parse_flags(*named.recipe, tool_usage(named), named.words, switches);
  if (!config) return std::nullopt;
  return ToolCall{*named.recipe, *config};
}

void write_dumps(const RunConfig& config, const std::vector<DumpFile>& dumps) {
  if (!config.out.folder.empty()) std::filesystem::create_directories(config.out.folder);
  for (const DumpFile& dump : dumps) {
    if (config.out.folder.empty())
      fmt::print("\n==> {} <==\n{}", dump.name, dump.text);
    else
      write_file_atomically(std::filesystem::path(config.out.folder) / dump.name, dump.text);
  }
}

}  // namespace kb
