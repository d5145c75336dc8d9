// summary: forecasts a recipe's speed on 1 to 4096 workers of a described cluster
#include "recipes/inspect/commands.h"

int main(int argc, char** argv) { return kb::command_main("scale", kb::scale_command, argc, argv); }
