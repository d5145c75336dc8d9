#include "recipes/run/interrupt.h"

#include <unistd.h>

#include "runtime/threads.h"

namespace kb {
namespace {

// The state of the signal handler, which must not use anything else.
volatile std::sig_atomic_t caught = 0, remembers = 0, second_ends_it = 0;

void handle(int number) {
  if (!remembers || (caught != 0 && second_ends_it)) ::_exit(128 + number);
  if (caught == 0) caught = number;
}

}  // namespace

Interrupt::Interrupt() {
  caught = 0;
  remembers = 0;
  second_ends_it = 0;
  struct sigaction action = {};
  action.sa_handler = handle;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < kNumbers.size(); ++i) {
    sigaction(kNumbers[i], &action, &actions_before_[i]);
    if (kNumbers[i] == SIGHUP && actions_before_[i].sa_handler == SIG_IGN)
      sigaction(SIGHUP, &actions_before_[i], nullptr);
  }
  thread_ = start_thread<std::thread>("the thread that takes signals", [this] { wait_for_signals(); });
  const sigset_t taken = signals();
  pthread_sigmask(SIG_BLOCK, &taken, &mask_before_);
}

Interrupt::~Interrupt() {
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
  ends_.release();
  thread_.join();
  for (size_t i = 0; i < kNumbers.size(); ++i) sigaction(kNumbers[i], &actions_before_[i], nullptr);
}

sigset_t Interrupt::signals() {
  sigset_t result;
  sigemptyset(&result);
  for (const int number : kNumbers) sigaddset(&result, number);
  return result;
}

void Interrupt::wait_for_signals() {
  const sigset_t taken = signals();
  pthread_sigmask(SIG_UNBLOCK, &taken, nullptr);
  ends_.acquire();
}

void Interrupt::remember(bool second_ends) {
  second_ends_it = second_ends;
  remembers = 1;
}

int Interrupt::number() { return caught; }

}  // namespace kb
