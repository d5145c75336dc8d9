// summary: what a run's model writes for sentences, by beam search, and its BLEU: translate RUN [--sentence TEXT]
#include "recipes/models/commands.h"

int main(int argc, char** argv) { return kb::command_main("translate", kb::translate_command, argc, argv); }
