// Messages between the ranks of a run, by which reductions are made. A Link belongs to one thread. Messages from one
// rank to another arrive in the order in which they were sent.
#pragma once
#include <chrono>
#include <span>

#include "runtime/comm/communicator.h"

namespace kb {

class Link {
 public:
  virtual ~Link() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual Placement placement() const = 0;
  virtual std::string name() const = 0;  // a text: "mpi"

  // Each starts a message and returns a handle; the link owns the memory until wait(handle). A receive is as long as
  // the send that it belongs to.
  virtual int send(int receiver, const std::byte* data, int64_t bytes) = 0;
  virtual int receive(int sender, std::byte* data, int64_t bytes) = 0;
  // Waits for a message, asleep. It is called once for each handle; handles of one rank's messages are waited for in
  // their order. Throws Error when the message takes longer than the link's timeout or the link was interrupted.
  virtual void wait(int handle) = 0;
  // Returns whether a message is done, which is then not to be waited for. Throws Error when the link was interrupted.
  virtual bool test(int handle) = 0;
  // Waits for one of several messages, however long it takes. Returns its place among the handles.
  size_t wait_any(std::span<const int> handles);

  // Returns the time on the clock that messages are timed with.
  virtual std::chrono::steady_clock::time_point now() const { return std::chrono::steady_clock::now(); }

  // May be called by any thread: the present wait and all later ones throw.
  virtual void interrupt() = 0;
  // Called at the end, when the messages of every rank have been waited for; not called after an error.
  virtual void close() {}

  // Returns whether the link's library has an all-reduce of its own; all_reduce() calls that.
  virtual bool reduces() const { return false; }
  virtual void all_reduce(std::byte* data, int64_t elements, DType dtype, bool blocking);
};

// Throws Error, which says that a message took longer than `seconds`: one to rank `other` if `sending`, else one from
// it.
[[noreturn]] void throw_no_message(int rank, int other, double seconds, bool sending);

}  // namespace kb
