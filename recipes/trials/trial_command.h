// The commands with which an executor's trials are started.
#pragma once
#include <string>

#include "recipes/run/tool.h"

namespace kb {

// One training of a study, a process: PROGRAM trial PROCESS [flags] of a recipe's program, TOOL trial PROCESS RECIPE
// [flags] of a tool. Returns the exit code; throws UsageError for words that it cannot understand.
int trial_command(const ToolArguments& arguments);
// One process of a trial of several, which mpirun starts: TOOL rank RECIPE [flags].
int rank_command(const ToolArguments& arguments);

// All of the main of a command whose trials are processes of the program itself.
int study_main(const std::string& name, CommandFunction* command, int argc, char** argv);

}  // namespace kb
