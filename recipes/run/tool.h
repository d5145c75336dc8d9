// Parts that tools over recipes share: `TOOL RECIPE [flags]` or `PROGRAM TOOL [flags]`, and dumps on standard output or
// in a folder.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "recipes/config/flags.h"
#include "recipes/run/guarded_main.h"
#include "recipes/train/programs.h"

namespace kb {

// Words that call a tool. `recipe`: of the program that was called; none: the first word names it.
struct ToolArguments {
  std::string tool;
  std::optional<Recipe> recipe;
  std::vector<std::string> words;
};

using CommandFunction = int(const ToolArguments&);

// All of a command's main: the recipe is the one that the first argument names.
int command_main(const std::string& name, CommandFunction* command, int argc, char** argv);

// "./run bench", "build/my_model bench".
std::string tool_usage(const ToolArguments& arguments);

struct ToolCall {
  Recipe recipe;
  RunConfig config;
};

// Returns the recipe and the flags; nothing where help was asked for and printed. Throws UsageError.
std::optional<ToolCall> parse_tool_call(const ToolArguments& arguments, const std::vector<ToolSwitch>& switches);

// Into the folder --out, or on standard output where none is given.
void write_dumps(const RunConfig& config, const std::vector<DumpFile>& dumps);

}  // namespace kb
