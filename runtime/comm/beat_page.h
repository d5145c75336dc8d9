// A page of memory that the processes of a machine share, with a place for each process of the run, which tells where
// in its schedule that process stands. The beats of other machines are brought by runtime/comm/beat_relay.h.
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
  absent,  // not here yet, or gone for good
  here,
  died,
  lost,    // another machine's, of which nothing more is heard
  failed,  // left with an error of its own
  ended,   // for a fault that it found
};

// The state of one process of the run. One process writes it; a torn text would only spoil a message.
struct Beat {
  static constexpr size_t kPlaceBytes = 120;

  std::atomic<Presence> presence{Presence::absent};
  std::atomic<int32_t> process{0};
  std::atomic<bool> waits{false};                     // for other processes
  std::atomic<bool> steps{false};                     // inside a step, whose parts all take about as long everywhere
  std::atomic<int64_t> step{-1}, count{0}, since{0};  // since: nanoseconds of this machine's clock
  std::atomic<int64_t> looked{0};  // likewise: when its watch last looked; known on its machine alone
  std::atomic<int32_t> asked{0};   // the signal that asked it to stop, see stop_vote.h; 0: none
  std::atomic<int64_t> vote{0};    // one more than what it has begun; 0: it has not voted
  std::atomic<char> place[kPlaceBytes]{};

  void set_place(std::string_view text);
  std::string text() const;  // "step 118 all_reduce 4"
};

// Nanoseconds of the machine's clock, the same for all its processes.
int64_t machine_time();

class BeatPage {
 public:
  // For every process of the run at the same time. Throws Error where there is no shared memory.
  explicit BeatPage(Communicator& communicator);
  ~BeatPage();
  BeatPage(const BeatPage&) = delete;
  BeatPage& operator=(const BeatPage&) = delete;

  int size() const { return static_cast<int>(leaders_.size()); }
  Beat& operator[](int rank) const;
  // The first rank of its machine: one machine, one leader.
  int leader(int rank) const { return leaders_[static_cast<size_t>(rank)]; }
  bool is_local(int rank) const { return leader(rank) == own_leader_; }
  // A process of this machine is looked for.
  Presence presence(int rank) const;
  // "rank 3 (process 4711 on node2)".
  std::string name(int rank) const;

 private:
  std::vector<int> leaders_;        // of every rank
  std::vector<std::string> hosts_;  // likewise
  int own_leader_ = 0;
  size_t bytes_ = 0;
  void* memory_ = nullptr;
};

}  // namespace kb
