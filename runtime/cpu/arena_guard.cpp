#include "runtime/cpu/arena_guard.h"

#ifdef __SANITIZE_ADDRESS__
#include <fmt/format.h>
#include <sanitizer/asan_interface.h>

#include "compiler/schedule/plan_memory.h"
#endif

namespace kb {

#ifdef __SANITIZE_ADDRESS__

void poison(const void* begin, int64_t bytes) { ASAN_POISON_MEMORY_REGION(begin, static_cast<size_t>(bytes)); }
void unpoison(const void* begin, int64_t bytes) { ASAN_UNPOISON_MEMORY_REGION(begin, static_cast<size_t>(bytes)); }

ArenaGuard::ArenaGuard(const Schedule& schedule)
    : schedule_(schedule), starts_(schedule.steps.size()), ends_(schedule.steps.size()) {
  for (size_t b = 0; b < schedule.buffers.size() && !schedule.steps.empty(); ++b) {
    const Buffer& buffer = schedule.buffers[b];
    if (!buffer.is_planned()) continue;
    starts_[static_cast<size_t>(buffer.first)].push_back(static_cast<int32_t>(b));
    ends_[static_cast<size_t>(buffer.last)].push_back(static_cast<int32_t>(b));
  }
}

void ArenaGuard::bind(std::span<std::byte* const> buffers) {
  buffers_.assign(buffers.begin(), buffers.end());
  for (size_t b = 0; b < buffers_.size(); ++b)
    if (schedule_.buffers[b].is_planned()) arena_ = buffers_[b] - schedule_.buffers[b].offset;
}

void ArenaGuard::begin_run() const {
  if (arena_) poison(arena_, schedule_.arena_bytes);
}

void ArenaGuard::begin_step(size_t step) const {
  for (int32_t b : starts_[step]) open(b);
  if (schedule_.steps[step].call()) check_library_operands(schedule_.steps[step]);
}

// Marks a buffer as live. Every buffer starts at a multiple of the alignment, so a look at these multiples finds every
// overlap with a live buffer.
void ArenaGuard::open(int32_t b) const {
  const std::byte* begin = buffers_[static_cast<size_t>(b)];
  int64_t bytes = schedule_.buffers[static_cast<size_t>(b)].bytes;
  for (int64_t at = 0; at < bytes; at += kAlignment)
    if (!__asan_address_is_poisoned(begin + at))
      throw InternalError(fmt::format("schedule {}: buffer b{} begins to live where another one lives, at byte {}",
                                      schedule_.name, b, at));
  unpoison(begin, bytes);
}

void ArenaGuard::check_library_operands(const Step& step) const {
  auto check = [&](View view) {
    if (view.buffer < 0) return;
    const Buffer& buffer = schedule_.buffers[static_cast<size_t>(view.buffer)];
    std::byte* begin = buffers_[static_cast<size_t>(view.buffer)] + view.offset;
    if (buffer.is_planned() && __asan_region_is_poisoned(begin, static_cast<size_t>(buffer.bytes - view.offset)))
      throw InternalError(fmt::format("schedule {}: step {} uses b{} ({}) outside its live range", schedule_.name,
                                      step.name, view.buffer, buffer.name));
  };
  for (View view : step.operands) check(view);
  check(step.call()->scratch);
}

// Ends the buffers whose last step this is. After the last step none is ended, since outputs are read between runs.
void ArenaGuard::end_step(size_t step) const {
  if (step + 1 == schedule_.steps.size()) return;
  for (int32_t b : ends_[step])
    poison(buffers_[static_cast<size_t>(b)], schedule_.buffers[static_cast<size_t>(b)].bytes);
}

#else

void poison(const void*, int64_t) {}
void unpoison(const void*, int64_t) {}
ArenaGuard::ArenaGuard(const Schedule& schedule) : schedule_(schedule) {}
void ArenaGuard::bind(std::span<std::byte* const>) {}
void ArenaGuard::begin_run() const {}
void ArenaGuard::begin_step(size_t) const {}
void ArenaGuard::end_step(size_t) const {}

#endif

}  // namespace kb
