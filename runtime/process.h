// A child process without a shell, its output caught in memory: no pipe to drain, no file on a disk that may be full.
#pragma once
#include <sys/types.h>
#include <string>
#include <vector>

#include "graph/error.h"

namespace kb {

// The system makes no more processes at present (EAGAIN): `ulimit -u` or a container's limit is reached.
struct NoProcess : Error {
  using Error::Error;
};

struct ProcessResult {
  int status = 0;      // exit status; 128 + N when signal N ended it
  std::string output;  // standard output and standard error, in the order written
};

// Returns a path that starts the program of this process: the one that it was started by or, where another file lies
// there by now, as after a build, one that lasts as long as this process.
std::string own_program();
// Returns a path that starts the program of this process, and no other one, as long as this process lives.
std::string running_program();

class Process {
 public:
  // Starts argv[0] (a path, not looked up) with this process's environment. kb::Error where it cannot be started,
  // NoProcess where another time may do.
  explicit Process(const std::vector<std::string>& argv);
  // Kills and reaps a child nobody waited for.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  ProcessResult wait();
  // False once the child has ended, waited for or not.
  bool runs() const;
  // To a child that has not been waited for.
  void signal(int number);

 private:
  int reap();

  pid_t child_ = -1;
  int output_ = -1;
};

}  // namespace kb
