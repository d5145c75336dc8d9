// How the processes of a run stop together. Each is told to stop at another moment, or not at all, and each is at
// another place in its step. But an action in which all must take part, begun by one, must be completed by all. All
// processes number these actions in the same order. Once a process is told to stop, each votes: it says how many
// actions it has begun, and begins no more before all have voted. Then all complete the actions that any process has
// begun, and begin none after these. Until then this costs no message: votes travel with the beats
// (runtime/comm/beat_page.h, beat_relay.h).
#pragma once
#include <atomic>
#include <cstdint>

#include "runtime/comm/beat_page.h"

namespace kb {

class StopVote {
 public:
  // The page must outlive it.
  StopVote(const BeatPage& page, int rank) : page_(page), rank_(rank) {}

  // Called by the watch, now and then. `signal` is the signal that told this process to stop; 0: none did. Votes if any
  // process was told.
  void look(int signal);

  // Called by the process before each action in which all take part; returns whether to do it. Waits for the votes if
  // there is a vote.
  bool begin();
  // Returns whether begin() will say no, so that preparations for it can be left out.
  bool is_over() const;
  // Returns the signal that told a process of the run to stop, the highest if there are several; 0: none was told.
  int reason() const;

 private:
  static constexpr int64_t kVoted = 1;
  int64_t begun_by_all() const;

  const BeatPage& page_;
  const int rank_;
  std::atomic<int64_t> state_{0};  // twice the number of actions that were begun, plus kVoted
};

}  // namespace kb
