// Parts that all tools over recipes use: their calls, `TOOL RECIPE [flags]` or `PROGRAM TOOL [flags]`, and dumps on
// standard output or in a folder.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "recipes/config/flags.h"
#include "recipes/run/tool_main.h"
#include "recipes/train/programs.h"

namespace kb {

// The words of a tool's call. `recipe`: that of the program that was called; if empty, the first word names it.
struct ToolArguments {
  std::string tool;
  std::optional<Recipe> recipe;
  std::vector<std::string> words;
};

// Returns "./run bench", "./run bench lenet_mnist" or "build/my_model bench".
std::string tool_usage(const ToolArguments& arguments);

struct ToolCall {
  Recipe recipe;
  RunConfig config;
};

// Returns the recipe and the flags; nothing if help was asked for and printed, which begins with `doc`, a sentence that
// says what the tool does. Throws UsageError for words that cannot be understood.
std::optional<ToolCall> parse_tool_call(const ToolArguments& arguments, const std::string& doc,
                                        const std::vector<ToolSwitch>& switches);

// Writes the dumps into the folder --out, or to standard output if none is given.
void write_dumps(const RunConfig& config, const std::vector<DumpFile>& dumps);

}  // namespace kb
