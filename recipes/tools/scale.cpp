// summary: forecasts a recipe's speed on 1 to 4096 workers of a described cluster
#include "recipes/commands/program.h"

int main(int argc, char** argv) { return kb::run_command("scale", argc, argv); }
