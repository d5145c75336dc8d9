// How the processes of a run stop together. Each is asked to at another moment, or not at all, and each stands
// somewhere else in its step; but what one begins that all must take part in, all must end. What all take part in is
// numbered by everyone in the same order. Once one was asked, each votes: it names how much of that it has begun, and
// begins no more before all have voted. Then what anyone had begun is done by all, and nothing after it. Before that it
// costs no message: votes travel with the beats (runtime/comm/beat_page.h, beat_relay.h).
#pragma once
#include <atomic>
#include <cstdint>

#include "runtime/comm/beat_page.h"

namespace kb {

class StopVote {
 public:
  // The page must outlive it.
  StopVote(const BeatPage& page, int rank) : page_(page), rank_(rank) {}

  // By the watch, now and then: `asked` is what this process was asked to stop with, 0 for nothing. Votes where anyone
  // was.
  void look(int asked);

  // By the process, before the next thing that all take part in: whether it is done. Waits for votes where there was
  // one.
  bool begin();
  // Whether begin() is going to say no, so that what is done for it can be left.
  bool is_over() const;
  // Returns the signal that asked a process of the run to stop, the highest if there are several; 0: none was asked.
  int reason() const;

 private:
  static constexpr int64_t kVoted = 1;
  int64_t begun_by_all() const;

  const BeatPage& page_;
  const int rank_;
  std::atomic<int64_t> state_{0};  // twice how many things were begun, and kVoted
};

}  // namespace kb
