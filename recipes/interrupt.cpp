#include "recipes/interrupt.h"

namespace kb {
namespace {

// A signal handler reaches nothing else.
volatile std::sig_atomic_t caught = 0;

void remember(int) { caught = 1; }

}  // namespace

Interrupt::Interrupt() {
  caught = 0;
  struct sigaction action = {};
  action.sa_handler = remember;
  action.sa_flags = SA_RESTART | SA_RESETHAND;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &old_int_);
  sigaction(SIGTERM, &action, &old_term_);
}

Interrupt::~Interrupt() {
  sigaction(SIGINT, &old_int_, nullptr);
  sigaction(SIGTERM, &old_term_, nullptr);
}

bool Interrupt::requested() const { return caught != 0; }

}  // namespace kb
