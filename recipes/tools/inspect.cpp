// summary: what the compiler makes of a recipe: passes, schedule, memory, kernels
#include "recipes/commands/program.h"

int main(int argc, char** argv) { return kb::run_command("inspect", argc, argv); }
