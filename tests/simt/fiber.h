// A stack of its own for a function that may be left and come back to. Switching costs a few nanoseconds; address and
// thread sanitizers are told of every switch.
#pragma once
#include <cstddef>

namespace kb::simt {

class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // `body(argument)` runs at the next resume. What ran here before, ended or not, is forgotten; it must own nothing.
  void start(void (*body)(void*), void* argument);
  // Runs until the fiber suspends or ends. Not to be called from a fiber.
  void resume();
  // From inside: back to who resumed.
  void suspend();
  bool holds(const void* at) const { return at >= stack_ && at < stack_ + kStackBytes; }

  static constexpr size_t kStackBytes = size_t{1} << 18;

 private:
  static void enter();
  void leave(bool for_good);

  std::byte* mapping_ = nullptr;  // a page that faults, then the stack
  std::byte* stack_ = nullptr;
  void* own_ = nullptr;     // stack pointer while it does not run
  void* caller_ = nullptr;  // while it runs
  void (*body_)(void*) = nullptr;
  void* argument_ = nullptr;
  // of the sanitizers
  void *own_shadow_ = nullptr, *caller_shadow_ = nullptr;
  const void* caller_stack_ = nullptr;
  size_t caller_stack_bytes_ = 0;
};

}  // namespace kb::simt
