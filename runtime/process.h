// A child process without a shell. Its output is caught in memory: there is no pipe to drain and no disk to fill.
#pragma once
#include <sys/types.h>
#include <cstdint>
#include <string>
#include <vector>

#include "graph/error.h"

namespace kb {

// The system makes no more processes at present (EAGAIN): the limit of `ulimit -u` or of a container is reached.
struct NoProcess : Error {
  using Error::Error;
};

struct ProcessResult {
  int status = 0;      // exit status; 128 + N when signal N ended it
  std::string output;  // standard output and standard error, in the order in which they were written
};

// Returns a path that starts this process's program: the path by which it was started or, if another file lies there
// now, as after a build, one that is valid while this process lives.
std::string own_program();
// Returns a path that starts exactly this process's program, valid while this process lives.
std::string running_program();

// Tells what happens to a child when the thread that started it ends, and so at the latest with this process, however
// that ends: nothing, or it gets SIGTERM. Its own children get no signal.
enum class Orphan : uint8_t { goes_on, ends };

class Process {
 public:
  // Starts argv[0] (a path, which is not looked up) with this process's environment. Throws kb::Error when it cannot be
  // started, NoProcess when it may be possible later.
  explicit Process(const std::vector<std::string>& argv, Orphan orphan = Orphan::goes_on);
  // Kills and reaps a child that nobody waited for.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  ProcessResult wait();
  // Returns false once the child has ended, whether it was waited for or not.
  bool runs() const;
  // Sends a signal to a child that has not been waited for.
  void signal(int number);

 private:
  int reap();

  pid_t child_ = -1;
  int output_ = -1;
};

}  // namespace kb
