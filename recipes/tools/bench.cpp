// summary: times a recipe's compiled training step on synthetic input
#include "recipes/commands/program.h"

int main(int argc, char** argv) { return kb::run_command("bench", argc, argv); }
