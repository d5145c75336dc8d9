// summary: times a recipe's compiled training step on synthetic input
#include "recipes/inspect/commands.h"

int main(int argc, char** argv) { return kb::command_main("bench", kb::bench_command, argc, argv); }
