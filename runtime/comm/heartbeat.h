// A watch over the processes of a run. One that has died or stands still is named, with its place in the schedule, long
// before a message times out. The processes of a machine see each other in a page of memory, and machines hear of each
// other over sockets. In the same way the processes agree on where to stop.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/comm/communicator.h"

namespace kb {

struct HeartbeatOptions {
  double interval = 0.1;  // seconds between two looks at up to 8 other processes of a machine
  // Seconds after which a process that stands still is named. patience holds inside a step, but at least twice the time
  // of this process's longest part of a step; long_patience holds at work outside of steps.
  double patience = 30, long_patience = 600;
  double grace = 5;     // seconds in which processes that meet the same error may end by themselves
  double silence = 30;  // seconds without a sign of a process, after which it counts as stopped, or its machine as lost
  int32_t process = 0;  // the process that is watched; 0: this one
  // Called once, by a thread of its own, in every process that finds a fault. By default the first such process prints
  // the message, and the process ends.
  std::function<void(const std::string& message)> on_fault = {};
  // Returns the signal that told this process to stop, or 0. A thread of its own calls it. If one process is told, all
  // stop.
  std::function<int()> asked = {};
};

class Heartbeat {
 public:
  // All processes of the run make theirs at the same time. Throws Error when there is no shared memory.
  explicit Heartbeat(Communicator& communicator, HeartbeatOptions options = {});
  // Tells the others that this process leaves. If it leaves because of an exception, they end soon.
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  // Returns why nothing is heard of processes on other machines; "" if something is, or there are none.
  const std::string& note() const;

  // These say where this process is from now on: at a place in a step, or at_work() outside of steps (data, compilers,
  // files), which takes an unknown time. `waits` means that others must come to the place before this process
  // continues. They allocate nothing.
  void at_step(int64_t step);
  void at(std::string_view place, bool waits = false);
  // Keeps the place, and says whether others must come before this process continues.
  void waits(bool waits);
  void at_work(std::string_view place);

  // How to stop together, see stop_vote.h; for use only if note() is empty.
  bool begin();
  bool is_over() const;
  int stop_reason() const;

  // Sets the hint that is added to the message about a fault: how the run can be continued.
  void set_hint(std::string hint);

 private:
  class Watch;
  std::unique_ptr<Watch> watch_;
};

}  // namespace kb
