// summary: writes what a recipe's first steps compute, for comparison with another framework (tests/peers)
#include "recipes/inspect/commands.h"

namespace kb {

int trace_steps_program(int argc, char** argv) { return command_main("trace_steps", trace_command, argc, argv); }

}  // namespace kb
