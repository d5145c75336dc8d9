// Messages between the ranks of a run, which the reductions are written over. A Link belongs to one thread; messages
// from one rank to another arrive in the order in which they were sent.
#pragma once
#include <chrono>

#include "runtime/comm/communicator.h"

namespace kb {

class Link {
 public:
  virtual ~Link() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual Placement placement() const = 0;
  virtual std::string name() const = 0;  // "mpi"

  // Start and return a handle; the memory is the link's until wait(handle). What is received is as long as what was
  // sent.
  virtual int send(int to, const std::byte* data, int64_t bytes) = 0;
  virtual int receive(int from, std::byte* data, int64_t bytes) = 0;
  // Sleeps. Once for each handle, those of messages from one rank in their order. Throws Error where the message is
  // under way for longer than the link's timeout or the link was interrupted.
  virtual void wait(int handle) = 0;

  // By the clock that messages are timed with.
  virtual std::chrono::steady_clock::time_point now() const { return std::chrono::steady_clock::now(); }

  // From any thread: the wait under way and all later ones throw.
  virtual void interrupt() = 0;
  // When every rank's messages have been waited for, before the end; not after an error.
  virtual void close() {}

  // Tells whether the link's library has an all-reduce of its own, which is all_reduce().
  virtual bool reduces() const { return false; }
  virtual void all_reduce(std::byte* data, int64_t elements, DType dtype, bool blocking);
};

// Throws Error: a message was under way for `seconds` s, too long; to rank `other` if `sending`, else from it.
[[noreturn]] void throw_no_message(int rank, int other, double seconds, bool sending);

}  // namespace kb
