// summary: minibatches and learning rates: how many steps each takes to a target
#include "recipes/sweep/sweep_command.h"
#include "recipes/trials/trial_command.h"

namespace kb {

int sweep_program(int argc, char** argv) { return study_main("sweep", sweep_command, argc, argv); }

}  // namespace kb
