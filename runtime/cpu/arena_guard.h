// Guards the memory that kernels see, in builds with AddressSanitizer. A planned buffer is addressable, to the byte,
// from the first to the last step of its live range. The rest of the arena is poisoned, and so are zones around every
// allocation. In other builds these functions do nothing.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "compiler/schedule.h"

namespace kb {

#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kGuarded = true;
#else
inline constexpr bool kGuarded = false;
#endif

// Bytes of poison between two planned buffers and around an allocation: two cache lines, more than a vector reaches.
inline constexpr int64_t kRedzone = kGuarded ? 128 : 0;

void poison(const void* begin, int64_t bytes);
void unpoison(const void* begin, int64_t bytes);

// Follows one run of a schedule, step by step.
class ArenaGuard {
 public:
  explicit ArenaGuard(const Schedule& schedule);

  // Takes the address of each buffer of the schedule, as Executable::bind does.
  void bind(std::span<std::byte* const> buffers);
  void begin_run() const;
  // Throws InternalError when a buffer of the step overlaps another live one, or when a library call, which no
  // sanitizer sees, would touch a buffer outside of its live range.
  void begin_step(size_t step) const;
  void end_step(size_t step) const;

 private:
  void open(int32_t buffer) const;
  void check_library_operands(const Step& step) const;

  const Schedule& schedule_;
  std::vector<std::vector<int32_t>> starts_, ends_;  // planned buffers by their first and by their last step
  std::vector<std::byte*> buffers_;
  std::byte* arena_ = nullptr;
};

}  // namespace kb
