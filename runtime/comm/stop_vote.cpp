#include "runtime/comm/stop_vote.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace kb {

void StopVote::look(int signal) {
  Beat& own = page_[rank_];
  if (signal != 0 && own.asked == 0) own.asked = signal;
  if (state_ & kVoted || reason() == 0) return;
  own.vote = (state_.fetch_or(kVoted) >> 1) + 1;
}

int StopVote::reason() const {
  int reason = 0;
  for (int rank = 0; rank < page_.size(); ++rank) reason = std::max<int>(reason, page_[rank].asked);
  return reason;
}

// Waits for the vote of each process that is present, and returns the greatest number of actions begun by any. A
// process that has left took part in everything; one that died or is stopped is the heartbeat's matter.
int64_t StopVote::begun_by_all() const {
  int64_t begun = 0;
  for (int rank = 0; rank < page_.size(); ++rank) {
    const Beat& beat = page_[rank];
    while (beat.vote == 0 && beat.presence != Presence::absent)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    begun = std::max<int64_t>(begun, beat.vote - 1);
  }
  return begun;
}

bool StopVote::begin() {
  int64_t state = state_;
  while (!(state & kVoted))
    if (state_.compare_exchange_weak(state, state + 2)) return true;
  if (state >> 1 >= begun_by_all()) return false;
  state_ += 2;
  return true;
}

bool StopVote::is_over() const {
  const int64_t state = state_;
  return state & kVoted && state >> 1 >= begun_by_all();
}

}  // namespace kb
