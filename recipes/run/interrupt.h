// The signals that ask a program to end: SIGINT and SIGTERM, SIGUSR1 and SIGUSR2 (Slurm's --signal), SIGHUP unless it
// is ignored already, as under nohup.
#pragma once
#include <array>
#include <csignal>
#include <semaphore>
#include <thread>

namespace kb {

// As long as it lives; one at a time. Until remember() such a signal ends the process at once, with exit code 128 + its
// number: also that of a container, whose first process has no default for it. A thread of its own takes the signals:
// the thread that constructs it, and threads started by that one later, block them, so that none of them is interrupted
// within a library's kernel.
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
  static sigset_t signals();
  void wait_for_signals();

  std::array<struct sigaction, kNumbers.size()> actions_before_;
  sigset_t mask_before_;
  std::binary_semaphore ends_{0};
  std::thread thread_;
};

}  // namespace kb
