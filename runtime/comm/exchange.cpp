#include "runtime/comm/exchange.h"

#include <algorithm>

#include "graph/rounding.h"
#include "runtime/comm/sum.h"

namespace kb {

Exchange::Exchange(Link& link) : link_(link) {
  if (size() > 1) scratch_.resize(kWindow * kChunk);
}

// Sends `out` and receives `in` in chunks. `place(i, offset)` says where chunk i, which begins at `offset` bytes of the
// part, is received; `arrived(i, offset, bytes)` is called when it is there.
template <class Place, class Arrived>
void Exchange::run(int64_t element_bytes, const Part& out, const Part& in, const Place& place, const Arrived& arrived) {
  const int64_t out_bytes = out.elements * element_bytes, in_bytes = in.elements * element_bytes;
  const int64_t outs = ceil_div(out_bytes, kChunk), ins = ceil_div(in_bytes, kChunk);
  int sends[kWindow], receives[kWindow];
  int64_t sent = 0, received = 0;
  for (int64_t i = 0; i < std::max(outs, ins); ++i) {
    for (; received < std::min(ins, i + kWindow); ++received)
      receives[received % kWindow] = link_.receive(group_.rank_of(in.rank), place(received, received * kChunk),
                                                   std::min(kChunk, in_bytes - received * kChunk));
    for (; sent < std::min(outs, i + kWindow); ++sent)
      sends[sent % kWindow] =
          link_.send(group_.rank_of(out.rank), out.data + sent * kChunk, std::min(kChunk, out_bytes - sent * kChunk));
    if (i < ins) {
      link_.wait(receives[i % kWindow]);
      arrived(i, i * kChunk, std::min(kChunk, in_bytes - i * kChunk));
    }
    if (i < outs) link_.wait(sends[i % kWindow]);
  }
  traffic_.bytes_sent += out_bytes;
  traffic_.bytes_received += in_bytes;
}

void Exchange::copy(DType dtype, const Part& out, const Part& in) {
  run(
      size_of(dtype), out, in, [&](int64_t, int64_t offset) { return in.data + offset; },
      [](int64_t, int64_t, int64_t) {});
}

void Exchange::add(DType dtype, const Part& out, const Part& in, bool received_first) {
  const int64_t element_bytes = size_of(dtype);
  const auto slot = [&](int64_t chunk) { return scratch_.data() + chunk % kWindow * kChunk; };
  run(
      element_bytes, out, in, [&](int64_t chunk, int64_t) { return slot(chunk); },
      [&](int64_t chunk, int64_t offset, int64_t bytes) {
        sum_into(dtype, in.data + offset, slot(chunk), bytes / element_bytes, received_first);
      });
}

void halving_doubling(Exchange& exchange, std::byte* data, int64_t elements, DType dtype) {
  std::vector<Move>& plan = exchange.moves();
  plan.clear();
  plan_halving_doubling(exchange.rank(), exchange.size(), elements, 1, plan);
  const auto part = [&](const Move& move, const Range& range) {
    return Part{move.partner, data + range.begin * size_of(dtype), range.elements()};
  };
  int rounds = 0;
  for (const Move& move : plan) {
    const Part out = part(move, move.send), in = part(move, move.receive);
    if (move.round == rounds) ++rounds, ++exchange.traffic().steps;
    if (move.adds)
      exchange.add(dtype, out, in, move.received_first);
    else
      exchange.copy(dtype, out, in);
  }
}

}  // namespace kb
