// One round of messages of a reduction, cut into chunks: a chunk is added while the next are under way, out of a cache.
#pragma once
#include "runtime/comm/halving_doubling.h"
#include "runtime/comm/link.h"

namespace kb {

// A part of the array that goes to another rank, or comes from one.
struct Part {
  int rank = 0;
  std::byte* data = nullptr;
  int64_t elements = 0;
};

class Exchange {
 public:
  explicit Exchange(Link& link);

  int rank() const { return link_.rank(); }
  int size() const { return link_.size(); }
  Traffic& traffic() { return traffic_; }
  std::vector<Move>& moves() { return moves_; }  // room for a plan, which is not allocated anew

  // `out` goes, at the same time `in` comes: into its place, or added to what is there, as the first operand where
  // `received_first`. Returns when both are done. Either may be empty.
  void copy(DType dtype, const Part& out, const Part& in);
  void add(DType dtype, const Part& out, const Part& in, bool received_first);

 private:
  template <class Place, class Arrived>
  void run(int64_t element_bytes, const Part& out, const Part& in, const Place& place, const Arrived& arrived);

  static constexpr int64_t kChunk = 1 << 18;  // bytes
  static constexpr int kWindow = 4;           // chunks under way each way

  Link& link_;
  Traffic traffic_;
  std::vector<std::byte> scratch_;
  std::vector<Move> moves_;
};

// Sum `elements` at `data` over all ranks, in place; see enum Algorithm.
void halving_doubling(Exchange& exchange, std::byte* data, int64_t elements, DType dtype);
void ring(Exchange& exchange, std::byte* data, int64_t elements, DType dtype);

}  // namespace kb
