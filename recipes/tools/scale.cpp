// summary: forecasts a recipe's speed on 1 to 4096 workers of a described cluster
#include "recipes/inspect/commands.h"

namespace kb {

int scale_program(int argc, char** argv) { return command_main("scale", scale_command, argc, argv); }

}  // namespace kb
