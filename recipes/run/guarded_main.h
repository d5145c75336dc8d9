// The frame around the work of every program: errors become messages and exit codes.
#pragma once
#include <functional>
#include <string>

namespace kb {

// Exit code of a run that diverged; recipes/commands/program.h has the other exit codes.
inline constexpr int kDivergedExitCode = 4;

// Runs `work` and returns its exit code. If it throws, prints a message to standard error and returns 1 for an error, 2
// for a command line that cannot be understood, 3 for any other exception, which is a fault of Kilobatch or of the
// program's own functions. Returns 1, too, if standard output did not take all that was printed.
int guarded_main(const std::string& program, const std::function<int()>& work);

}  // namespace kb
