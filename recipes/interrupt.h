// Ctrl-C as a question that a loop asks: while an Interrupt lives, the first SIGINT or SIGTERM is remembered; a second
// one ends the process at once.
#pragma once
#include <csignal>

namespace kb {

class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool requested() const;

 private:
  struct sigaction old_int_, old_term_;
};

}  // namespace kb
