// Carries beats between machines, over sockets of its own: messages of the run may be what does not come. The first
// process of every machine sends what it knows of its own machine to rank 0, which sends everybody all of it.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "runtime/comm/beat_page.h"

namespace kb {

struct SentBeat;

class BeatRelay {
 public:
  // For every process of the run at the same time. After `silence` seconds without a word a machine is lost.
  BeatRelay(Communicator& communicator, const BeatPage& page, double silence);
  ~BeatRelay();  // tells the others that this machine's processes are no longer to be missed
  BeatRelay(const BeatRelay&) = delete;
  BeatRelay& operator=(const BeatRelay&) = delete;

  // Why machines hear nothing of each other, the same everywhere; "" where they do, or there is one.
  const std::string& fault() const { return fault_; }

  // Brings the page's beats of other machines up to date and sends those of this one: who has come, left, died or voted
  // at once, the rest the more seldom the more machines there are. To be called often; never waits.
  void exchange();

 private:
  struct Peer;
  std::string open(Communicator& communicator);
  std::string listen_and_accept(Communicator& communicator);
  bool is_awaited(int rank) const;
  std::string connect_to_hub(Communicator& communicator);
  bool look();
  void receive(Peer& peer);
  void apply(Peer& peer);
  void lose(Peer& peer) const;
  void send(Peer& peer, bool leaves);
  std::string beats_for(const Peer& peer, bool leaves) const;

  const BeatPage& page_;
  int rank_;
  int64_t silence_;                     // nanoseconds
  int64_t exchanged_ = machine_time();  // last
  int64_t sent_ = 0;                    // last, to all
  std::vector<SentBeat> beats_;         // as last looked at
  std::string fault_;
  std::vector<std::unique_ptr<Peer>> peers_;  // rank 0's: the other machines' first; theirs: rank 0
};

}  // namespace kb
