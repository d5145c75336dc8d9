#include "recipes/train/interrupt.h"

#include <unistd.h>

namespace kb {
namespace {

// A signal handler reaches nothing else.
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
    sigaction(kNumbers[i], &action, &before_[i]);
    if (kNumbers[i] == SIGHUP && before_[i].sa_handler == SIG_IGN) sigaction(SIGHUP, &before_[i], nullptr);
  }
}

Interrupt::~Interrupt() {
  for (size_t i = 0; i < kNumbers.size(); ++i) sigaction(kNumbers[i], &before_[i], nullptr);
}

void Interrupt::remember(bool second_ends) {
  second_ends_it = second_ends;
  remembers = 1;
}

int Interrupt::number() { return caught; }

}  // namespace kb
