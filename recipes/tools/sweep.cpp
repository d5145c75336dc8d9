// summary: minibatches and learning rates: how many steps each takes to a target
#include "recipes/commands/program.h"

int main(int argc, char** argv) { return kb::run_study("sweep", argc, argv); }
