// summary: writes what a recipe's first steps compute, for comparison with another framework (tests/peers)
#include "recipes/inspect/commands.h"

int main(int argc, char** argv) { return kb::command_main("trace_steps", kb::trace_command, argc, argv); }
