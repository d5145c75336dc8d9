// Recursive halving with partners at distance 1 first, then doubling back the same way: the tree of enum Algorithm for
// powers of two. Other counts are cut into blocks of descending powers of two: each reduces and scatters inside, the
// smallest adds its pieces to the next larger's, and so on up to the largest; the sums come back the same way (binary
// blocks: Goyal et al. 2017, section 4). A smaller block's pieces are unions of a larger one's, since both cut the
// array by the low bits of a rank's number first.
#include <array>
#include <bit>

#include "runtime/comm/exchange.h"

namespace kb {
namespace {

struct Range {
  int64_t begin = 0, end = 0;
};

struct Block {
  int first = 0, size = 0;  // ranks
};

// This rank's block and its neighbours; size 0 where there is none.
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

Range half(Range range, bool second) {
  const int64_t middle = range.begin + (range.end - range.begin + 1) / 2;
  return second ? Range{middle, range.end} : Range{range.begin, middle};
}

class Reduction {
 public:
  Reduction(Exchange& exchange, std::byte* data, int64_t elements, DType dtype)
      : exchange_(exchange), data_(data), dtype_(dtype), blocks_(find_blocks(exchange.rank(), exchange.size())) {
    number_ = exchange.rank() - blocks_.own.first;
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
  Part part(int rank, Range range) const {
    return {rank, data_ + range.begin * size_of(dtype_), range.end - range.begin};
  }
  void count_step() { ++exchange_.traffic().steps; }
  int partner(int distance) const { return blocks_.own.first + (number_ ^ distance); }
  int in_smaller() const { return blocks_.smaller.first + number_ % blocks_.smaller.size; }

  void halve() {
    for (int distance = 1; distance < blocks_.own.size; distance *= 2, ++level_) {
      const bool second = (number_ & distance) != 0;
      held_[level_ + 1] = half(held_[level_], second);
      count_step();
      exchange_.add(dtype_, part(partner(distance), half(held_[level_], !second)),
                    part(partner(distance), held_[level_ + 1]), second);
    }
  }

  void take_from_smaller() {
    count_step();
    exchange_.add(dtype_, {}, part(in_smaller(), held_[level_]), false);
  }

  void give_to_smaller() {
    count_step();
    exchange_.copy(dtype_, part(in_smaller(), held_[level_]), {});
  }

  // Up, and back when the larger block has the sum.
  void exchange_with_larger() {
    count_step();
    for (int number = number_; number < blocks_.larger.size; number += blocks_.own.size)
      exchange_.copy(dtype_, piece_of_larger(number), {});
    count_step();
    for (int number = number_; number < blocks_.larger.size; number += blocks_.own.size)
      exchange_.copy(dtype_, {}, piece_of_larger(number));
  }

  // The part of this rank's piece that the larger block's rank of that number holds.
  Part piece_of_larger(int number) const {
    Range range = held_[level_];
    for (int distance = blocks_.own.size; distance < blocks_.larger.size; distance *= 2)
      range = half(range, (number & distance) != 0);
    return part(blocks_.larger.first + number, range);
  }

  void double_back() {
    for (int distance = blocks_.own.size / 2; distance >= 1; distance /= 2, --level_) {
      const bool second = (number_ & distance) != 0;
      count_step();
      exchange_.copy(dtype_, part(partner(distance), held_[level_]),
                     part(partner(distance), half(held_[level_ - 1], !second)));
    }
  }

  Exchange& exchange_;
  std::byte* data_;
  DType dtype_;
  Blocks blocks_;
  int number_ = 0;                // in the block
  std::array<Range, 32> held_{};  // after each halving
  int level_ = 0;
};

}  // namespace

void halving_doubling(Exchange& exchange, std::byte* data, int64_t elements, DType dtype) {
  Reduction(exchange, data, elements, dtype).run();
}

}  // namespace kb
