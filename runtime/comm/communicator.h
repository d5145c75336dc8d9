// Sums over the processes of a run. One Communicator a process; every rank starts the same reductions in the same
// order. It is used by one thread; what it was given to do is done by a thread of its own, so that reductions overlap
// with compute.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "graph/dtype.h"
#include "runtime/comm/algorithm.h"

namespace kb {

// Counts of what this rank's reductions sent and received since the communicator was opened; gathers and barriers are
// not counted. A step is one round of messages, empty ones too (no message is sent for no bytes). With `n` bytes and p
// ranks the counts are exactly:
// ring: takes 2(p - 1) steps. Piece i is elements [count i/p, count (i + 1)/p), indices modulo p; rank r sends
//   2n - |piece r+1| - |piece r+2| and receives 2n - |piece r| - |piece r+1| bytes: 2n(p - 1)/p where p divides n.
// halving-doubling: the ranks are cut into blocks of descending powers of two (7 = 4 + 2 + 1). In a block of q = 2^k
//   ranks, rank r holds pieces of s_0 = n, s_1, ..., s_k bytes: at step j it keeps the first half (rounded up to whole
//   elements) where bit j - 1 of its number in the block is 0, else the rest. It takes 2k steps, and sends as much as
//   it receives: (n - s_k) + s_1 + ... + s_k: 2n(q - 1)/q where q divides n. A neighbouring block, smaller or larger,
//   adds 2 steps, and s_k bytes sent and received.
// mpi, mpi_blocking: are counted as 1 step, n bytes sent and received; what the library sends is not known.
struct Traffic {
  int64_t steps = 0, bytes_sent = 0, bytes_received = 0;
  bool operator==(const Traffic&) const = default;
};

// The place of a rank among the ranks on its machine (a node).
struct Placement {
  int nodes = 1;
  int local_rank = 0, local_size = 1;  // among the ranks of this node
  int leader = 0;                      // the first rank of this node
};

// When a reduction's first message could go and when its result was there.
struct Interval {
  std::chrono::steady_clock::time_point begin, end;
};

class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual Placement placement() const = 0;
  virtual std::string description() const = 0;  // "mpi: 4 ranks on 1 node, halving-doubling"

  // For the reductions started from now on; the same on every rank. Throws Error where it needs MPI and there is none,
  // or a GPU.
  virtual void choose(Algorithm algorithm) = 0;

  // Sums `elements` at `data` over all ranks, in place: f64, f32, bf16, f16 (each sum of two computed in f32 and
  // rounded to nearest even), i32, u32 (modulo 2^32). Infinities and NaNs (not their payloads) come through. Returns a
  // ticket at once; the memory is the communicator's until wait(ticket). Allocates nothing once as many reductions
  // have been under way at a time.
  virtual int64_t all_reduce(std::byte* data, int64_t elements, DType dtype) = 0;
  // Once for each ticket, in any order. Throws Error, naming the rank that is waited for, where a message has been
  // under way for longer than the communicator's timeout; so does every call after that.
  virtual Interval wait(int64_t ticket) = 0;

  // Every rank's bytes, by rank; after the reductions started before.
  virtual std::vector<std::string> all_gather(const std::string& bytes) = 0;
  // Returns once every rank has come here.
  virtual void barrier() = 0;
  virtual Traffic traffic() const = 0;
};

struct CommunicatorOptions {
  Algorithm algorithm = Algorithm::halving_doubling;
  double timeout = 30;                // seconds a message may be waited for
  const Network* throttle = nullptr;  // makes every message take as long as on this network, without using a core
  int node = -1;                      // of a test: the machine that this process is said to be on; -1: the real one
};

// Makes the communicator of a run of one rank: its reductions and barriers do nothing.
std::unique_ptr<Communicator> make_local_communicator();

// A thread of this process for each rank, for tests. The network outlives its communicators.
class InProcessNetwork;
std::shared_ptr<InProcessNetwork> make_in_process_network(int ranks);
std::unique_ptr<Communicator> make_in_process_communicator(std::shared_ptr<InProcessNetwork> network, int rank,
                                                           const CommunicatorOptions& options = {});
// The rank says nothing more and takes nothing more: a process that died.
void kill_rank(InProcessNetwork& network, int rank);

}  // namespace kb
