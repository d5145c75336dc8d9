// The commands that start the trials of an executor.
#pragma once
#include <optional>

#include "recipes/run/tool.h"

namespace kb {

// Runs one training of a study in this process: PROGRAM trial PROCESS [flags] of a recipe's program, TOOL trial PROCESS
// RECIPE [flags] of a tool; PROCESS is the executor's process number. Returns the exit code; throws UsageError for
// words that it cannot understand.
int trial_command(const ToolArguments& arguments);
// Runs one process of a trial that has several processes, which mpirun starts: TOOL rank RECIPE [flags].
int rank_command(const ToolArguments& arguments);

// Runs `trial` or `rank` if this is the first word of a tool whose trials are processes of its own program. Returns the
// exit code; nothing for other words.
std::optional<int> trial_or_rank(const ToolArguments& arguments);

}  // namespace kb
