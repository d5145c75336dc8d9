// summary: minibatches and learning rates: how many steps each takes to a target
#include "recipes/sweep/sweep_command.h"
#include "recipes/trials/trial_command.h"

int main(int argc, char** argv) { return kb::study_main("sweep", kb::sweep_command, argc, argv); }
