// The plan of a halving-doubling all-reduce: the parts of the array that a rank sends, receives and adds. All
// transports use it, so that there is one tree (enum Algorithm).
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
// first operand if `received_first`. A range may be empty, and then nothing is sent that way. Both ranks plan equal
// lengths.
struct Move {
  int round = 0;  // counts from 0; the moves of a round are made at the same time
  int partner = 0;
  Range send, receive;
  bool adds = false, received_first = false;
};

// Appends the moves of `rank` to `plan`. Pieces begin at multiples of `unit` elements, which changes no sum.
void plan_halving_doubling(int rank, int ranks, int64_t elements, int64_t unit, std::vector<Move>& plan);

}  // namespace kb
