// summary: the classes that a run's model gives images, with their probabilities: predict RUN IMAGE...
#include "recipes/models/commands.h"

namespace kb {

int predict_program(int argc, char** argv) { return command_main("predict", predict_command, argc, argv); }

}  // namespace kb
