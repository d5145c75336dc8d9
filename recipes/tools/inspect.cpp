// summary: what the compiler makes of a recipe: passes, schedule, memory, kernels
#include "recipes/inspect/commands.h"

namespace kb {

int inspect_program(int argc, char** argv) { return command_main("inspect", inspect_command, argc, argv); }

}  // namespace kb
