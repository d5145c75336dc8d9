#include "runtime/comm/cost.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>
#include <vector>

#include "graph/error.h"
#include "runtime/comm/halving_doubling.h"

namespace kb {
namespace {

constexpr double kNotYet = -1;

// The moves of one rank in order, and for each the number of its partner's move that belongs to it.
struct RankReplay {
  std::vector<Move> moves;
  std::vector<size_t> partners_move;
  std::vector<double> begun;  // start of each move, in seconds
  size_t next = 0;
  double in_free = 0;  // the time at which its port in has carried all messages so far
};

// Plans the moves. The k-th move that a rank makes with another is the k-th that the other makes with it.
std::vector<RankReplay> plan_replay(int64_t bytes, int ranks) {
  std::vector<RankReplay> all(static_cast<size_t>(ranks));
  std::map<std::pair<int, int>, std::vector<size_t>> between;
  for (int rank = 0; rank < ranks; ++rank) {
    RankReplay& one = all[static_cast<size_t>(rank)];
    plan_halving_doubling(rank, ranks, bytes, 1, one.moves);
    one.begun.assign(one.moves.size() + 1, kNotYet);
    one.begun[0] = 0;
    for (size_t m = 0; m < one.moves.size(); ++m) between[{rank, one.moves[m].partner}].push_back(m);
  }
  for (const auto& [ranks_of, moves] : between) {
    RankReplay& one = all[static_cast<size_t>(ranks_of.first)];
    one.partners_move.resize(one.moves.size());
    const std::vector<size_t>& theirs = between.at({ranks_of.second, ranks_of.first});
    for (size_t k = 0; k < moves.size(); ++k) one.partners_move[moves[k]] = theirs.at(k);
  }
  return all;
}

// Returns when a rank's next move ends, which the partner began at `theirs`. A message leaves when its sender has come
// to the move, and its receiver has too.
double end_of_next(RankReplay& own, double theirs, const Network& network) {
  const Move& move = own.moves[own.next];
  const double begun = own.begun[own.next];
  double end = begun;
  if (move.send.elements() > 0)
    end = std::max(begun + static_cast<double>(move.send.elements()) / network.bandwidth, theirs);
  if (move.receive.elements() == 0) return end;
  own.in_free = std::max(theirs + network.latency, own.in_free) +
                static_cast<double>(move.receive.elements()) / network.bandwidth;
  return std::max(end, own.in_free);
}

double replayed_seconds(int64_t bytes, int ranks, const Network& network) {
  std::vector<RankReplay> all = plan_replay(bytes, ranks);
  double last = 0;
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (RankReplay& own : all)
      for (; own.next < own.moves.size(); ++own.next, goes_on = true) {
        const RankReplay& partner = all[static_cast<size_t>(own.moves[own.next].partner)];
        const double theirs = partner.begun[own.partners_move[own.next]];
        if (theirs == kNotYet) break;
        own.begun[own.next + 1] = end_of_next(own, theirs, network);
        last = std::max(last, own.begun[own.next + 1]);
      }
  }
  for (const RankReplay& one : all) ensure(one.next == one.moves.size(), "ranks of an all-reduce wait for each other");
  return last;
}

}  // namespace

double halving_doubling_seconds(int64_t bytes, int ranks, const Network& network) {
  if (ranks == 1) return 0;
  if (!std::has_single_bit(static_cast<unsigned>(ranks))) return replayed_seconds(bytes, ranks, network);
  const int steps = 2 * (std::bit_width(static_cast<unsigned>(ranks)) - 1);
  return steps * network.latency + 2.0 * static_cast<double>(bytes) * (ranks - 1) / ranks / network.bandwidth;
}

}  // namespace kb
