// summary: a run's model as safetensors under PyTorch's names: export RUN --to FILE
#include "recipes/models/commands.h"

int main(int argc, char** argv) { return kb::command_main("export", kb::export_command, argc, argv); }
