// The signals that ask a program to end: SIGINT and SIGTERM, SIGUSR1 and SIGUSR2 (Slurm's --signal), SIGHUP unless it
// is ignored already, as under nohup.
#pragma once
#include <array>
#include <csignal>

namespace kb {

// As long as it lives; one at a time. Until remember() such a signal ends the process at once, with exit code 128 + its
// number: also that of a container, whose first process has no default for it.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // From now on the first is kept for number() to tell, and with `second_ends` a second ends the process at once.
  static void remember(bool second_ends);
  static int number();  // 0: none came

 private:
  static constexpr std::array kNumbers{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2};
  std::array<struct sigaction, kNumbers.size()> before_;
};

}  // namespace kb
