// Every rank sends to the next: p - 1 steps in which the sums of pieces go round and grow, p - 1 in which they are
// handed on.
#include "runtime/comm/exchange.h"

namespace kb {

void ring(Exchange& exchange, std::byte* data, int64_t elements, DType dtype) {
  const int rank = exchange.rank(), ranks = exchange.size();
  const auto part = [&](int to, int index) {
    const int64_t piece = (index % ranks + ranks) % ranks;
    const int64_t begin = elements * piece / ranks, end = elements * (piece + 1) / ranks;
    return Part{to, data + begin * size_of(dtype), end - begin};
  };
  const int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;
  for (int step = 0; step < ranks - 1; ++step, ++exchange.traffic().steps)
    exchange.add(dtype, part(next, rank - step), part(last, rank - step - 1), true);
  for (int step = 0; step < ranks - 1; ++step, ++exchange.traffic().steps)
    exchange.copy(dtype, part(next, rank + 1 - step), part(last, rank - step));
}

}  // namespace kb
