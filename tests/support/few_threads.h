// These classes imitate a machine at its limit of threads and processes (EAGAIN), as `ulimit -u` or a container's
// pids.max makes it. The system's own limit does not bind an administrator, so the test's program has limits of its
// own.
#pragma once
#include <cerrno>

namespace kb::test {

// Until the end of the scope no more than `threads` further threads can exist at once; for one more, `error` is the
// system's answer. Only one FewThreads may exist at a time.
class FewThreads {
 public:
  explicit FewThreads(int threads, int error = EAGAIN);
  ~FewThreads();
  FewThreads(const FewThreads&) = delete;
  FewThreads& operator=(const FewThreads&) = delete;
};

// While it lives, __clone() succeeds for `before` processes, then fails for `failures`, then succeeds for all further
// ones.
class FewProcesses {
 public:
  FewProcesses(int before, int failures);
  ~FewProcesses();
  FewProcesses(const FewProcesses&) = delete;
  FewProcesses& operator=(const FewProcesses&) = delete;

  int failed() const;
};

}  // namespace kb::test
