// summary: a run's model as safetensors under PyTorch's names: export RUN --to FILE
#include "recipes/commands/program.h"

int main(int argc, char** argv) { return kb::run_command("export", argc, argv); }
