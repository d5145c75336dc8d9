// Runs a launcher of processes, mpirun, as a child. Signals reach this process alone, which hands them on so that the
// launched processes have the time they need. What the launcher started ends with it.
#pragma once
#include <string>
#include <vector>

namespace kb {

// Runs the command, a path and its words, until it ends. It gets a session of its own, without a terminal and standard
// input. SIGHUP, SIGINT, SIGTERM, SIGUSR1 and SIGUSR2 are handed on as one SIGUSR1, which mpirun passes to its
// processes without ending (after SIGTERM it would kill them two seconds later); a second signal kills all of them.
// SIGTSTP stops all until this process continues. If this process is killed, the command gets SIGUSR1. Returns the
// command's exit code; 128 + N when signal N was handed on and all ended by it, or N killed the command. Throws Error
// when the command cannot be started.
int run_launcher(const std::vector<std::string>& command);

}  // namespace kb
