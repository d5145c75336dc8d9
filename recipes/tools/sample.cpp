// summary: a text that a run's language model writes after a prompt: sample RUN --prompt TEXT
#include "recipes/models/commands.h"

int main(int argc, char** argv) { return kb::command_main("sample", kb::sample_command, argc, argv); }
