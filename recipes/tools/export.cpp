// summary: a run's model as safetensors under PyTorch's names: export RUN --to FILE
#include "recipes/models/commands.h"

namespace kb {

int export_program(int argc, char** argv) { return command_main("export", export_command, argc, argv); }

}  // namespace kb
