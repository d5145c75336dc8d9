// Runs a launcher of processes, mpirun, as a child. Signals reach this process alone, which hands them on so that the
// launched processes have the time they need. What the launcher started ends with it.
#pragma once
#include <string>
#include <vector>

namespace kb {

// The environment variable in which the command finds the number of the process that launched it.
inline constexpr const char* kLaunchedBy = "KB_LAUNCHED_BY";

inline constexpr int kGraceSeconds = 2, kMeetSeconds = 60;

// Runs the command, a path and its words, until it ends. It gets a session of its own, without a terminal and standard
// input. SIGHUP, SIGINT, SIGTERM, SIGUSR1 and SIGUSR2 are handed on as one SIGUSR1, which mpirun passes to its
// processes without ending (after SIGTERM it would kill them two seconds later); a second signal kills all of them. So
// does the first one, kGraceSeconds later, where the processes have not met by then: there is nothing to save yet, and
// an mpirun that cannot start them may wait forever. SIGTSTP stops all until this process continues. If this process is
// killed, the command gets SIGUSR1. Returns the command's exit code; 128 + N when signal N was handed on and all ended
// by it, or N killed the command. mpirun is told to be quiet, since errors of its processes explain themselves; where
// it fails before they have met, a line on standard error says so, and how to hear it; another line says that they have
// not met after `meet_seconds`. Throws Error when the command cannot be started.
int run_launcher(const std::vector<std::string>& command, int meet_seconds = kMeetSeconds);

// Tells the process `launched_by` that the processes which it launched have met: all of them run and take signals. One
// of them says so for all. Returns false if that process has ended; 0 stands for none.
bool say_met(int launched_by);

}  // namespace kb
