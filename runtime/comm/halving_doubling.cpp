// Recursive halving, first with partners at distance 1, then doubling back the same way. For powers of two this is the
// tree of enum Algorithm. Other numbers of ranks are cut into blocks of descending powers of two: each block reduces
// and scatters inside, the smallest adds its pieces to those of the next larger one, and so on up to the largest; the
// sums come back the same way (binary blocks: Goyal et al. 2017, section 4). A piece of a smaller block is a union of
// pieces of a larger one, since both cut the array first by the low bits of a rank's number.
#include "runtime/comm/halving_doubling.h"

#include <algorithm>
#include <array>
#include <bit>

#include "graph/rounding.h"

namespace kb {
namespace {

struct Block {
  int first = 0, size = 0;  // the ranks first ... first + size - 1
};

// This rank's block and its neighbours; a block that does not exist has size 0.
struct Blocks {
  Block larger, own, smaller;
};

Block block_from(int first, int ranks) {
  return {first, first < ranks ? static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks - first))) : 0};
}

Blocks find_blocks(int rank, int ranks) {
  Blocks found{{}, block_from(0, ranks), {}};
  while (rank >= found.own.first + found.own.size) {
    found.larger = found.own;
    found.own = block_from(found.own.first + found.own.size, ranks);
  }
  found.smaller = block_from(found.own.first + found.own.size, ranks);
  return found;
}

class Planner {
 public:
  Planner(int rank, int ranks, int64_t elements, int64_t unit, std::vector<Move>& plan)
      : unit_(unit), plan_(plan), blocks_(find_blocks(rank, ranks)), number_(rank - blocks_.own.first) {
    held_[0] = {0, elements};
  }

  void run() {
    halve();
    if (blocks_.smaller.size > 0) take_from_smaller();
    if (blocks_.larger.size > 0) exchange_with_larger();
    if (blocks_.smaller.size > 0) give_to_smaller();
    double_back();
  }

 private:
  int partner(int distance) const { return blocks_.own.first + (number_ ^ distance); }
  int in_smaller() const { return blocks_.smaller.first + number_ % blocks_.smaller.size; }

  Range half(Range range, bool second) const {
    const int64_t units = ceil_div(range.elements(), unit_);
    const int64_t middle = std::min(range.begin + (units + 1) / 2 * unit_, range.end);
    return second ? Range{middle, range.end} : Range{range.begin, middle};
  }

  void halve() {
    for (int distance = 1; distance < blocks_.own.size; distance *= 2, ++level_) {
      const bool second = (number_ & distance) != 0;
      held_[level_ + 1] = half(held_[level_], second);
      plan_.push_back({round_++, partner(distance), half(held_[level_], !second), held_[level_ + 1], true, second});
    }
  }

  void take_from_smaller() { plan_.push_back({round_++, in_smaller(), {}, held_[level_], true, false}); }
  void give_to_smaller() { plan_.push_back({round_++, in_smaller(), held_[level_], {}}); }

  // Sends this rank's pieces to the larger block, and receives the sums when that block has them.
  void exchange_with_larger() {
    for (const bool up : {true, false}) {
      for (int number = number_; number < blocks_.larger.size; number += blocks_.own.size) {
        const Range piece = piece_of_larger(number);
        plan_.push_back({round_, blocks_.larger.first + number, up ? piece : Range{}, up ? Range{} : piece});
      }
      ++round_;
    }
  }

  // Returns the part of this rank's piece that rank `number` of the larger block holds.
  Range piece_of_larger(int number) const {
    Range range = held_[level_];
    for (int distance = blocks_.own.size; distance < blocks_.larger.size; distance *= 2)
      range = half(range, (number & distance) != 0);
    return range;
  }

  void double_back() {
    for (int distance = blocks_.own.size / 2; distance >= 1; distance /= 2, --level_) {
      const bool second = (number_ & distance) != 0;
      plan_.push_back({round_++, partner(distance), held_[level_], half(held_[level_ - 1], !second)});
    }
  }

  const int64_t unit_;
  std::vector<Move>& plan_;
  const Blocks blocks_;
  const int number_;              // number of this rank in its block
  std::array<Range, 32> held_{};  // the range that this rank holds after each halving
  size_t level_ = 0;
  int round_ = 0;
};

}  // namespace

void plan_halving_doubling(int rank, int ranks, int64_t elements, int64_t unit, std::vector<Move>& plan) {
  Planner(rank, ranks, elements, unit, plan).run();
}

}  // namespace kb
