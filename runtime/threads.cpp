#include "runtime/threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <future>
#include <vector>

#include "graph/error.h"

namespace kb {

std::string no_thread_text(const char* what, const std::error_code& error) {
  return fmt::format(
      "no thread can be made for {}\n  expected: room for one more\n  got:      {}\n  hint:     the limit on "
      "the user's processes and threads (ulimit -u), on the container's (pids.max) or on memory, which a thread's "
      "stack takes (ulimit -v), is reached: raise it, or run with fewer --threads or fewer --processes",
      what, error.message());
}

void throw_no_thread(const char* what, const std::error_code& error) { throw Error(no_thread_text(what, error)); }

NoSignals::NoSignals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before_);
}

NoSignals::~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

// Each thread takes the next piece until none is left. If a thread cannot be made, its work is deferred until it is
// waited for, when no piece is left.
void run_side_by_side(size_t count, size_t jobs, const std::function<void(size_t)>& piece) {
  std::vector<std::exception_ptr> failures(count);
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < count; i = next++) {
      try {
        piece(i);
      } catch (...) {
        failures[i] = std::current_exception();
      }
    }
  };
  std::vector<std::future<void>> others;
  for (size_t i = 1; i < std::min(jobs, count); ++i) others.push_back(std::async(work));
  work();
  for (std::future<void>& other : others) other.get();
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

}  // namespace kb
