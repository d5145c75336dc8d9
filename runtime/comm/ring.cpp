// Every rank sends to the next one: in the first p - 1 steps the sums of pieces travel round and grow, and in p - 1
// more the finished sums are passed on.
#include "runtime/comm/exchange.h"

namespace kb {

void ring(Exchange& exchange, std::byte* data, int64_t elements, DType dtype) {
  const int rank = exchange.rank(), ranks = exchange.size();
  const auto part = [&](int other, int index) {
    const int64_t piece = (index % ranks + ranks) % ranks;
    const int64_t begin = elements * piece / ranks, end = elements * (piece + 1) / ranks;
    return Part{other, data + begin * size_of(dtype), end - begin};
  };
  const int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;
  for (int step = 0; step < ranks - 1; ++step, ++exchange.traffic().steps)
    exchange.add(dtype, part(next, rank - step), part(last, rank - step - 1), true);
  for (int step = 0; step < ranks - 1; ++step, ++exchange.traffic().steps)
    exchange.copy(dtype, part(next, rank + 1 - step), part(last, rank - step));
}

}  // namespace kb
