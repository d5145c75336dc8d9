// A function with a stack of its own, which can be left and continued. A switch takes a few nanoseconds; the address
// and thread sanitizers are told of every switch.
#pragma once
#include <cstddef>

namespace kb::simt {

class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // The next resume() runs body(argument). A body that ran here before is forgotten, even if it has not ended, so it
  // must own nothing.
  void start(void (*body)(void*), void* argument);
  // Runs until the fiber suspends or ends. It must not be called from a fiber.
  void resume();
  // Called inside the fiber: returns to the caller of resume().
  void suspend();
  bool holds(const void* at) const { return at >= stack_ && at < stack_ + kStackBytes; }

  static constexpr size_t kStackBytes = size_t{1} << 18;

 private:
  static void enter();
  void leave(bool for_good);

  std::byte* mapping_ = nullptr;  // a page that faults, then the stack
  std::byte* stack_ = nullptr;
  void* own_ = nullptr;     // the fiber's stack pointer while it does not run
  void* caller_ = nullptr;  // the caller's stack pointer while the fiber runs
  void (*body_)(void*) = nullptr;
  void* argument_ = nullptr;
  // The sanitizers need these.
  void *own_shadow_ = nullptr, *caller_shadow_ = nullptr;
  const void* caller_stack_ = nullptr;
  size_t caller_stack_bytes_ = 0;
};

}  // namespace kb::simt
