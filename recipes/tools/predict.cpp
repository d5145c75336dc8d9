// summary: the classes that a run's model gives images, with their probabilities: predict RUN IMAGE...
#include "recipes/models/commands.h"

int main(int argc, char** argv) { return kb::command_main("predict", kb::predict_command, argc, argv); }
