// The program of a tool includes this header alone, so that it compiles in a moment.
#pragma once

namespace kb {

struct ToolArguments;
using CommandFunction = int(const ToolArguments&);

// Does all that the main of a tool has to do, with the command tools/TOOL.cpp defines. Returns the exit code.
int tool_main(const char* name, CommandFunction* command, int argc, char** argv);

}  // namespace kb
