// summary: times a recipe's compiled training step on synthetic input
#include "recipes/inspect/commands.h"

namespace kb {

int bench_program(int argc, char** argv) { return command_main("bench", bench_command, argc, argv); }

}  // namespace kb
