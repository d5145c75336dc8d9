// One round of messages of a reduction, cut into chunks. A chunk is added while the next are on their way, and while it
// is in the cache.
#pragma once
#include "runtime/comm/halving_doubling.h"
#include "runtime/comm/link.h"

namespace kb {

// A part of the array that is sent to another rank, or received from one.
struct Part {
  int rank = 0;
  std::byte* data = nullptr;
  int64_t elements = 0;
};

class Exchange {
 public:
  explicit Exchange(Link& link);

  // Sets the group of the rounds that follow. Its ranks are numbered from 0 on here.
  void among(const RankGroup& group) { group_ = group; }
  int rank() const { return group_.number_of(link_.rank()); }
  int size() const { return group_.is_all() ? link_.size() : group_.count; }
  Traffic& traffic() { return traffic_; }
  std::vector<Move>& moves() { return moves_; }  // memory for a plan, which is kept from one reduction to the next

  // Each sends `out` while it receives `in`, and returns when both are done; either may be empty. copy() puts the
  // received elements into the place of `in`; add() adds them to those there, as the first operand if `received_first`.
  void copy(DType dtype, const Part& out, const Part& in);
  void add(DType dtype, const Part& out, const Part& in, bool received_first);

 private:
  template <class Place, class Arrived>
  void run(int64_t element_bytes, const Part& out, const Part& in, const Place& place, const Arrived& arrived);

  static constexpr int64_t kChunk = 1 << 18;  // bytes of a chunk
  static constexpr int kWindow = 4;           // number of chunks that are on their way in each direction

  Link& link_;
  RankGroup group_;
  Traffic traffic_;
  std::vector<std::byte> scratch_;
  std::vector<Move> moves_;
};

// Each sums `elements` elements at `data` over all ranks, in place; see enum Algorithm.
void halving_doubling(Exchange& exchange, std::byte* data, int64_t elements, DType dtype);
void ring(Exchange& exchange, std::byte* data, int64_t elements, DType dtype);

}  // namespace kb
