// Carries beats between machines over sockets of its own, because messages of the run may be what does not arrive. The
// first process of every machine sends the beats of its machine to rank 0, which sends all beats to every machine.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "runtime/comm/beat_page.h"

namespace kb {

struct SentBeat;

class BeatRelay {
 public:
  // All processes of the run make theirs at the same time, and exchange nothing before all have made theirs. A machine
  // that sends nothing for `silence` seconds is lost.
  BeatRelay(Communicator& communicator, const BeatPage& page, double silence);
  ~BeatRelay();  // tells the others that the processes of this machine have left
  BeatRelay(const BeatRelay&) = delete;
  BeatRelay& operator=(const BeatRelay&) = delete;

  // Returns why machines hear nothing of each other, the same text on all; "" if they do hear, or there is one machine.
  const std::string& fault() const { return fault_; }

  // Writes the beats of other machines into the page and sends those of this one. News that a process has come, left,
  // died or voted is sent at once; other beats are sent the less often the more machines there are. It is called often
  // and never waits.
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
  int64_t silence_;                     // nanoseconds without a message after which a machine is lost
  int64_t exchanged_ = machine_time();  // time of the last call of exchange()
  int64_t sent_ = 0;                    // time of the last message to all peers
  std::vector<SentBeat> beats_;         // beats that look() read last
  std::string fault_;
  std::vector<std::unique_ptr<Peer>> peers_;  // rank 0 has the other machines' first ranks; these have rank 0
};

}  // namespace kb
