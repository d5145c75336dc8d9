// A launcher of processes - mpirun - as a child that shields them: signals reach this process alone, which hands them
// on in a way that leaves them the time they need, and what the launcher started ends with it.
#pragma once
#include <string>
#include <vector>

namespace kb {

// Runs the command, a path and its words, in a session of its own, without a terminal or standard input, until it ends.
// SIGHUP, SIGINT, SIGTERM, SIGUSR1 and SIGUSR2 are handed on as one SIGUSR1, which mpirun gives to its processes and
// does not end by (at SIGTERM it kills them two seconds later); a second one kills all of them. SIGTSTP stops all until
// this process goes on. Where this process is killed, the command gets SIGUSR1. Gives the command's exit code; 128 +
// number where signal `number` was handed on and all ended by it, or the command was killed by it. Throws Error where
// it cannot be started.
int run_launcher(const std::vector<std::string>& command);

}  // namespace kb
