// summary: what the compiler makes of a recipe: passes, schedule, memory, kernels
#include "recipes/inspect/commands.h"

int main(int argc, char** argv) { return kb::command_main("inspect", kb::inspect_command, argc, argv); }
