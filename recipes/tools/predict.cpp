// summary: the classes that a run's model gives images, with their probabilities: predict RUN IMAGE...
#include "recipes/commands/program.h"

int main(int argc, char** argv) { return kb::run_command("predict", argc, argv); }
