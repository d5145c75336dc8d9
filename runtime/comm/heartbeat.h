// A watch over the processes of a run: one that has died or goes no further is named, in the words of the schedule,
// long before a message's time is over. Processes of a machine see each other in a page of memory, machines hear of
// each other over sockets. By the same way they agree on where to stop.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/comm/communicator.h"

namespace kb {

struct HeartbeatOptions {
  double interval = 0.1;  // seconds between two looks at up to 8 others of a machine
  // Seconds after which one that goes no further is named: inside a step, or twice as long as the longest part of a
  // step took here, whichever is more; and at work that takes its time.
  double patience = 30, long_patience = 600;
  double grace = 5;     // seconds in which processes that meet the same error end by themselves
  double silence = 30;  // seconds in which nothing of a process runs, after which it is stopped or its machine lost
  int32_t process = 0;  // that is watched; 0: this one
  // Called once, by a thread of its own, in every process that finds a fault; by default the message is printed by the
  // first that does, and the process ended.
  std::function<void(const std::string& message)> on_fault = {};
  // Returns the signal that asked this process to stop, or 0; called by a thread of its own. All processes stop then.
  std::function<int()> asked = {};
};

class Heartbeat {
 public:
  // Every process of the run makes its own at the same time. Throws Error where there is no shared memory.
  explicit Heartbeat(Communicator& communicator, HeartbeatOptions options = {});
  // The others no longer miss this process; with an exception under way, they end soon.
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  // Why nothing is heard of processes on other machines; "" where it is, or there are none.
  const std::string& note() const;

  // Each says where this process stands from now on: at a place in a step (`waits`: others must come too before it goes
  // on), or at_work outside of steps, of which others know little: data, compilers, files. Allocates nothing.
  void at_step(int64_t step);
  void at(std::string_view place, bool waits = false);
  // Keeps the place and says whether others must come before this process goes on.
  void waits(bool waits);
  void at_work(std::string_view place);

  // Stopping together, see stop_vote.h; only where note() is empty.
  bool begin();
  bool is_over() const;
  int stop_reason() const;

  // Sets the hint that is added to the message about a fault: how the run can go on.
  void set_hint(std::string hint);

 private:
  class Watch;
  std::unique_ptr<Watch> watch_;
};

}  // namespace kb
