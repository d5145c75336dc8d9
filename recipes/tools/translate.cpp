// summary: what a run's model writes for sentences, by beam search, and its BLEU: translate RUN [--sentence TEXT]
#include "recipes/models/commands.h"

namespace kb {

int translate_program(int argc, char** argv) { return command_main("translate", translate_command, argc, argv); }

}  // namespace kb
