// summary: minibatches and learning rates: how many steps each takes to a target
#include <string>

#include "recipes/commands/program.h"

// Its trials are processes of it, too.
int main(int argc, char** argv) {
  const bool is_trial = argc > 1 && std::string(argv[1]) == "trial";
  return is_trial ? kb::run_command("trial", argc - 1, argv + 1) : kb::run_command("sweep", argc, argv);
}
