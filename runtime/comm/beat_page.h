// A page of memory that the processes of a machine share. It has a place for each process of the run, which says where
// in its schedule that process is. runtime/comm/beat_relay.h brings the places of processes on other machines.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/comm/communicator.h"

namespace kb {

enum class Presence : int32_t {
  absent,  // has left, or there is no relay by which its machine is heard of; before all have come, has not come yet
  here,
  died,
  lost,    // is on another machine, from which nothing comes any more
  failed,  // left with an error
  ended,   // ended itself because of a fault that it found
};

// The state of one process of the run. That process alone writes it; a text that is read half-written only spoils a
// message.
struct Beat {
  static constexpr size_t kPlaceBytes = 120;

  std::atomic<Presence> presence{Presence::absent};
  std::atomic<int32_t> process{0};
  std::atomic<bool> waits{false};  // waits for other processes
  std::atomic<bool> steps{false};  // is inside a step, whose parts take about as long in every process
  // `since` is when it came to its place, in nanoseconds of this machine's clock.
  std::atomic<int64_t> step{-1}, count{0}, since{0};
  std::atomic<int64_t> looked{0};  // when its watch last looked, in the same time; known on its machine alone
  std::atomic<int32_t> asked{0};   // the signal that told it to stop, see stop_vote.h; 0: none
  std::atomic<int64_t> vote{0};    // one more than the number of things it has begun; 0: it has not voted
  std::atomic<char> place[kPlaceBytes]{};

  void set_place(std::string_view text);
  std::string text() const;  // its place, as "step 118 all_reduce 4"
};

// Returns nanoseconds of the machine's clock, which all its processes share.
int64_t machine_time();

class BeatPage {
 public:
  // All processes of the run make theirs at the same time. Throws Error when there is no shared memory.
  explicit BeatPage(Communicator& communicator);
  ~BeatPage();
  BeatPage(const BeatPage&) = delete;
  BeatPage& operator=(const BeatPage&) = delete;

  int size() const { return static_cast<int>(leaders_.size()); }
  Beat& operator[](int rank) const;
  // Returns the first rank on the machine of `rank`. It stands for the machine.
  int leader(int rank) const { return leaders_[static_cast<size_t>(rank)]; }
  bool is_local(int rank) const { return leader(rank) == own_leader_; }
  // Returns the state of a process; one on this machine is looked up in the system.
  Presence presence(int rank) const;
  // Returns "rank 3 (process 4711 on node2)".
  std::string name(int rank) const;

 private:
  std::vector<int> leaders_;        // the leader of every rank
  std::vector<std::string> hosts_;  // the machine's name for every rank
  int own_leader_ = 0;
  size_t bytes_ = 0;
  void* memory_ = nullptr;
};

}  // namespace kb
