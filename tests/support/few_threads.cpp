#include "tests/support/few_threads.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>

namespace {

constexpr int kMany = INT_MAX / 2;
std::atomic<int> threads_left{INT_MAX}, refusal{EAGAIN};
std::atomic<int> spawns_before{INT_MAX}, spawns_to_fail{0}, spawns_failed{0};

// Returns the next definition in the order of libraries, which is a sanitizer's or the system's.
template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

// The function that a thread runs, and its argument; run_counted counts the thread as left at its end.
struct Body {
  void* (*body)(void*);
  void* argument;
};

void* run_counted(void* given) {
  const Body body = *static_cast<Body*>(given);
  std::free(given);
  void* const result = body.body(body.argument);
  ++threads_left;
  return result;
}

}  // namespace

// A program's own definitions come before those of its libraries, so these replace the system's functions.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                              void* argument) noexcept {
  static const auto real = next<decltype(&pthread_create)>("pthread_create");
  if (threads_left > kMany) return real(thread, attributes, body, argument);
  if (threads_left-- > 0) {
    auto* const counted = static_cast<Body*>(std::malloc(sizeof(Body)));  // a test counts calls of operator new
    *counted = {body, argument};
    return real(thread, attributes, run_counted, counted);
  }
  ++threads_left;
  return refusal;
}

extern "C" int __clone(int (*body)(void*), void* stack, int flags, void* argument, ...) noexcept {
  static const auto real = next<int (*)(int (*)(void*), void*, int, void*, ...)>("__clone");
  if (spawns_before != INT_MAX && spawns_before-- <= 0 && spawns_to_fail-- > 0) {
    ++spawns_failed;
    errno = EAGAIN;
    return -1;
  }
  return real(body, stack, flags, argument);
}

namespace kb::test {

FewThreads::FewThreads(int threads, int error) {
  refusal = error;
  threads_left = threads;
}
FewThreads::~FewThreads() { threads_left = INT_MAX; }

FewProcesses::FewProcesses(int before, int failures) {
  spawns_failed = 0;
  spawns_to_fail = failures;
  spawns_before = before;
}
FewProcesses::~FewProcesses() { spawns_before = INT_MAX; }

int FewProcesses::failed() const { return spawns_failed; }

}  // namespace kb::test
