// Parts that tools over recipes share: `TOOL RECIPE [flags]`, and dumps on standard output or in a folder.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "recipes/config/flags.h"
#include "recipes/run/guarded_main.h"
#include "recipes/train/programs.h"

namespace kb {

struct ToolCall {
  Recipe recipe;
  RunConfig config;
};

// The recipe that the first argument names and the flags behind it; nothing where help was asked for and printed.
// Throws UsageError.
std::optional<ToolCall> parse_tool_call(const std::string& tool, const std::vector<std::string>& arguments,
                                        const std::vector<ToolSwitch>& switches);

// Into the folder --out, or on standard output where none is given.
void write_dumps(const RunConfig& config, const std::vector<DumpFile>& dumps);

}  // namespace kb
