#include "recipes/run/interrupt.h"

#include <unistd.h>

#include "runtime/threads.h"

namespace kb {
namespace {

std::atomic<int> kept = 0;
std::atomic<bool> remembers = false, second_one_ends = false;

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
  kept = 0;
  remembers = false;
  second_one_ends = false;
  thread_ = start_thread("the signals that ask this program to end", [this] { take_signals(); });
}

Interrupt::~Interrupt() {
  ends_ = true;
  pthread_kill(thread_.native_handle(), SIGTERM);
  thread_.join();
}

// The signals are blocked in every thread and waited for here, so that no handler runs.
void Interrupt::take_signals() {
  for (siginfo_t sent{};;) {
    const int number = sigwaitinfo(&blocked_.signals, &sent);
    if (number < 0) continue;                       // EINTR: the process was stopped, and goes on
    if (ends_ && sent.si_code == SI_TKILL) return;  // sent by the destructor
    if (!remembers || (kept != 0 && second_one_ends)) ::_exit(128 + number);
    if (kept == 0) kept = number;
  }
}

void Interrupt::remember(bool second_ends) {
  second_one_ends = second_ends;
  remembers = true;
}

int Interrupt::number() { return kept; }

}  // namespace kb
