// Sums over the processes of a run. Each process has one Communicator, and every rank starts the same reductions in the
// same order, those of groups included. One thread uses it; a thread of its own does the work, so that reductions
// overlap with computation.
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
#include "runtime/rank_group.h"

namespace kb {

class Link;

// Counts of what this rank's reductions sent and received since the communicator was opened, without gathers and
// barriers. A step is one round of messages, also if they are empty (no message is sent for no bytes). With n bytes and
// p ranks the counts are exactly:
// ring: 2(p - 1) steps. Piece i has the elements [count i/p, count (i + 1)/p), with indices modulo p. Rank r sends
//   2n - |piece r+1| - |piece r+2| and receives 2n - |piece r| - |piece r+1| bytes: 2n(p - 1)/p if p divides n.
// halving-doubling: the ranks are cut into blocks of descending powers of two (7 = 4 + 2 + 1). In a block of q = 2^k
//   ranks, rank r holds pieces of s_0 = n, s_1, ..., s_k bytes: at step j it keeps the first half (rounded up to whole
//   elements) if bit j - 1 of its number in the block is 0, else the rest. It takes 2k steps, and sends as much as it
//   receives: (n - s_k) + s_1 + ... + s_k, which is 2n(q - 1)/q if q divides n. Each neighbouring block, smaller or
//   larger, adds 2 steps, and s_k bytes sent and received.
// mpi, mpi_blocking: 1 step, n bytes sent and received; what the library really sends is not known.
struct Traffic {
  int64_t steps = 0, bytes_sent = 0, bytes_received = 0;
  bool operator==(const Traffic&) const = default;
};

// The place of a rank among the machines (nodes) of the run.
struct Placement {
  int nodes = 1;
  int local_rank = 0, local_size = 1;  // its number among the ranks of this node, and their number
  int leader = 0;                      // the first rank of this node
};

// The time from a reduction's first message to its result.
struct Interval {
  std::chrono::steady_clock::time_point begin, end;
};

class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual Placement placement() const = 0;
  virtual std::string description() const = 0;  // a text: "mpi: 4 ranks on 1 node, halving-doubling"

  // Chooses the algorithm of the reductions that are started from now on; every rank chooses the same. Throws Error
  // when it needs MPI or a GPU and there is none.
  virtual void choose(Algorithm algorithm) = 0;

  // Sums `elements` elements at `data` over all ranks, or among those of a group that this rank is in, in place: f64,
  // f32, bf16 and f16 (each sum of two computed in f32 and rounded to nearest even), i32, u32 (modulo 2^32). Infinities
  // and NaNs (without their payloads) are preserved. Returns a ticket at once; the communicator owns the memory until
  // wait(ticket). It allocates nothing once as many reductions have been active at a time. Throws Error for a group
  // where the algorithm is the MPI library's own.
  virtual int64_t all_reduce(std::byte* data, int64_t elements, DType dtype, const RankGroup& among = {}) = 0;
  // Waits for a reduction; called once for each ticket, in any order. Throws Error, which names the rank that is waited
  // for, when a message takes longer than the communicator's timeout; every later call then throws too.
  virtual Interval wait(int64_t ticket) = 0;

  // Returns the bytes that each rank gave, in the order of ranks, after all reductions that were started before.
  virtual std::vector<std::string> all_gather(const std::string& bytes) = 0;
  // Returns once every rank has called it.
  virtual void barrier() = 0;
  // Runs a task that exchanges messages between two ranks, after all that was started before; returns when it is done.
  // The ranks need not run the same tasks. There must be several ranks.
  virtual void run(const std::function<void(Link&)>& task) = 0;
  virtual Traffic traffic() const = 0;
};

struct CommunicatorOptions {
  Algorithm algorithm = Algorithm::halving_doubling;
  double timeout = 30;                // seconds after which a message counts as missing
  const Network* throttle = nullptr;  // every message takes as long as on this network, without using a core
  int node = -1;                      // tests: the machine that this process pretends to be on; -1: its own
};

// Makes the communicator of a run with one rank. Its reductions and barriers do nothing.
std::unique_ptr<Communicator> make_local_communicator();

}  // namespace kb
