// Threads on a system that may make no more of them (EAGAIN: `ulimit -u`, a container's pids.max). Work that any thread
// can do is given to std::async without a policy, so that the caller does it then. A thread that a run cannot do
// without is started here.
#pragma once
#include <signal.h>

#include <cstddef>
#include <functional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace kb {

// Returns "no thread can be made for WHAT", with the system's reason and what helps.
std::string no_thread_text(const char* what, const std::error_code& error);
[[noreturn]] void throw_no_thread(const char* what, const std::error_code& error);

// While it lives, this thread gets no signals, and neither do the threads that it starts then.
class NoSignals {
 public:
  NoSignals();
  ~NoSignals();
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_;
};

// Starts a thread. Throws Error with no_thread_text(what) when it cannot be made.
template <class Thread = std::thread, class Body>
Thread start_thread(const char* what, Body&& body) {
  try {
    return Thread(std::forward<Body>(body));
  } catch (const std::system_error& error) {
    throw_no_thread(what, error.code());
  }
}

// Calls piece(0) to piece(count - 1), at most `jobs` at once; the caller is one of the threads. After all were called,
// the first failure is thrown.
void run_side_by_side(size_t count, size_t jobs, const std::function<void(size_t)>& piece);

}  // namespace kb
