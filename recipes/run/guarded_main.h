// The frame around the work of every program: errors become messages and exit codes.
#pragma once
#include <functional>
#include <string>

namespace kb {

// The run diverged; recipes/commands/program.h has the other exit codes.
inline constexpr int kDivergedExitCode = 4;

// Runs `work`, and turns what it throws into a message on standard error and an exit code: 1 an error, 2 a command line
// that cannot be understood, 3 a fault of Kilobatch's own. 1 also where standard output did not take all that was
// printed.
int guarded_main(const std::string& program, const std::function<int()>& work);

}  // namespace kb
