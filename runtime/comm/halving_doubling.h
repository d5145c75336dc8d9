// The plan of a halving-doubling all-reduce: which parts of the array a rank sends and receives, and which it adds. One
// for every transport, so that the tree of enum Algorithm is one, too.
#pragma once
#include <cstdint>
#include <vector>

namespace kb {

// Elements [begin, end) of the array.
struct Range {
  int64_t begin = 0, end = 0;
  int64_t elements() const { return end - begin; }
};

// One exchange between this rank and a partner. Received elements replace those there, or are added to them, as the
// first operand if `received_first`. Either range may be empty: nothing goes that way. Both ranks plan equal lengths.
struct Move {
  int round = 0;  // from 0; the moves of a round go at the same time
  int partner = 0;
  Range send, receive;
  bool adds = false, received_first = false;
};

// Appends the moves of `rank` to `plan`. Pieces begin at multiples of `unit` elements: sums do not depend on it.
void plan_halving_doubling(int rank, int ranks, int64_t elements, int64_t unit, std::vector<Move>& plan);

}  // namespace kb
