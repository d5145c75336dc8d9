// Takes the signals that ask a program to end: SIGINT and SIGTERM, SIGUSR1 and SIGUSR2 (Slurm's --signal), and SIGHUP
// unless it is ignored already, as under nohup.
#pragma once
#include <atomic>
#include <csignal>
#include <thread>

namespace kb {

// Takes the signals while the object lives; only one may live at a time. Before remember() a signal ends the process at
// once, with exit code 128 + its number; this includes the first process of a container, for which signals have no
// default action. A thread of its own waits for the signals: the thread that constructs the object, and threads that it
// starts later, block them, so that none of them is interrupted within a library's kernel.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // Keeps the first signal from now on for number(). With `second_ends` a second one ends the process at once.
  static void remember(bool second_ends);
  static int number();  // number of the kept signal; 0 if none came

 private:
  // While it lives, the thread that made it blocks the signals, and so do threads that it starts then.
  struct Blocked {
    Blocked();
    ~Blocked();
    sigset_t signals, before;
  };
  void take_signals();

  const Blocked blocked_;
  std::atomic<bool> ends_ = false;  // the destructor waits for the thread
  std::thread thread_;
};

}  // namespace kb
