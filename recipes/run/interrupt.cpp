#include "recipes/run/interrupt.h"

#include <unistd.h>

#include "runtime/threads.h"

namespace kb {
namespace {

std::atomic<int> kept_signal = 0;
std::atomic<bool> remembers = false, second_one_ends = false;

void heed_signal(int number) {
  if (!remembers || (kept_signal != 0 && second_one_ends)) ::_exit(128 + number);
  if (kept_signal == 0) kept_signal = number;
}

}  // namespace

Interrupt::Blocked::Blocked() {
  sigemptyset(&signals);
  for (const int number : {SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2}) sigaddset(&signals, number);
  struct sigaction hang_up;
  sigaction(SIGHUP, nullptr, &hang_up);
  if (hang_up.sa_handler == SIG_IGN) sigdelset(&signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals, &before);
}

Interrupt::Blocked::~Blocked() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }

Interrupt::Interrupt() {
  kept_signal = 0;
  remembers = false;
  second_one_ends = false;
  thread_ = start_thread("the signals that ask this program to end", [this] { take_signals(); });
}

// The signals are blocked in every thread and waited for, so that no handler runs.
Interrupt::~Interrupt() {
  ends_ = true;
  pthread_kill(thread_.native_handle(), SIGTERM);
  thread_.join();
  const timespec at_once{};
  for (int number = 0; (number = sigtimedwait(&blocked_.signals, nullptr, &at_once)) > 0;) heed_signal(number);
}

void Interrupt::take_signals() {
  for (siginfo_t sent{};;) {
    const int number = sigwaitinfo(&blocked_.signals, &sent);
    if (number < 0) continue;                        // EINTR: the process was stopped, and goes on
    if (ends_ && sent.si_pid == ::getpid()) return;  // sent by the destructor
    heed_signal(number);
  }
}

void Interrupt::remember(bool second_ends) {
  second_one_ends = second_ends;
  remembers = true;
}

int Interrupt::number() { return kept_signal; }

}  // namespace kb
