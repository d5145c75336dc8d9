// Where every process of a machine stands in its schedule, in a page of memory that all of them see, and a watch over
// it: a process that has died or goes no further is named, in the words of the schedule, long before a message's time
// is over.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/comm/communicator.h"

namespace kb {

struct HeartbeatOptions {
  double interval = 0.1;  // seconds between two looks at the others
  double patience = 30;   // seconds after which one that goes no further is named
  // Called once, by a thread of its own, in every process that finds a fault; by default the message is printed by the
  // lowest rank that is left, and the process ended.
  std::function<void(const std::string& message)> on_fault = {};
};

class Heartbeat {
 public:
  // Every process of the run makes its own at the same time. Throws Error where there is no shared memory.
  explicit Heartbeat(Communicator& communicator, HeartbeatOptions options = {});
  ~Heartbeat();  // the others no longer miss this process
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  // Where this process stands from now on; `waits` where others must come too before it goes on. Allocates nothing.
  void at_step(int64_t step);
  void at(std::string_view place, bool waits = false);
  // The same place: whether others must come before it goes on.
  void waits(bool waits);
  // What to add to a message: how the run can go on.
  void set_hint(std::string hint);

 private:
  class Watch;
  std::unique_ptr<Watch> watch_;
};

}  // namespace kb
