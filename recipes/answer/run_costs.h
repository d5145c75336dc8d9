// Costs of a run until a step: virtual time, and bytes that a process sends.
#pragma once
#include <cstdint>
#include <optional>

#include "recipes/trials/run_reader.h"

namespace kb {

// Returns the virtual time in seconds at which a run had done so many steps, linear inside a step; nothing if it has no
// clock, or none at these steps.
std::optional<double> clock_at(const RunReport& run, double steps);

// Returns the bytes that a process sends in `steps` steps, one worker a process, mean over the processes; what it
// receives is not counted. With k workers and parameters of n bytes, 4 each or 2 by --reduce-precision, a step sends:
// sync: A(k), that of a halving-doubling all-reduce over k processes (Traffic, runtime/comm/communicator.h), which is
//   2n (k - 1) / k for k = 2^i.
// local: A(k / R) for the gradients of a replica, and A(R) every H steps for the parameters; A(k) before --from.
// async, stale: n, one gradient a worker. The server sends the parameters, which are not counted.
// backup: n k / (k + b) where late gradients are abandoned, which then are not sent. Where they are finished, the run's
//   order.jsonl tells how many were sent and dropped.
// Returns nothing if the number of parameters is not known, or if the order cannot be read.
std::optional<double> bytes_sent(const RunReport& run, double steps);

// Returns A(p): the bytes that a rank of p sends in a halving-doubling all-reduce of `elements` elements of
// `element_bytes` bytes, mean over the ranks.
double all_reduce_bytes(int64_t elements, int64_t element_bytes, int64_t ranks);

}  // namespace kb
