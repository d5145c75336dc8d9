// The commands that start the trials of an executor.
#pragma once
#include <string>

#include "recipes/run/tool.h"

namespace kb {

// Runs one training of a study in this process: PROGRAM trial PROCESS [flags] of a recipe's program, TOOL trial PROCESS
// RECIPE [flags] of a tool; PROCESS is the executor's process number. Returns the exit code; throws UsageError for
// words that it cannot understand.
int trial_command(const ToolArguments& arguments);
// Runs one process of a trial that has several processes, which mpirun starts: TOOL rank RECIPE [flags].
int rank_command(const ToolArguments& arguments);

// Runs the whole main() of a command whose trials are processes of the program itself: `trial`, `rank` or the command.
// Returns the exit code.
int study_main(const std::string& name, CommandFunction* command, int argc, char** argv);

}  // namespace kb
