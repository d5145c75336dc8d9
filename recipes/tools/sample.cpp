// summary: a text that a run's language model writes after a prompt: sample RUN --prompt TEXT
#include "recipes/models/commands.h"

namespace kb {

int sample_program(int argc, char** argv) { return command_main("sample", sample_command, argc, argv); }

}  // namespace kb
