// The algorithms that sum arrays over the processes of a run, and the network between these.
#pragma once
#include <cstdint>
#include <string_view>

namespace kb {

// How an all-reduce is computed. `halving_doubling` is exact: its sum is one fixed binary tree over the ranks,
//   T(a..b) = T(first m of them) + T(rest), m the largest power of two below their count,
// for any size of the array and any place of the ranks, and every operand is rounded to the array's dtype. The others
// sum in an order that depends on sizes (`ring`) or that the library chooses (`mpi`: MPI_Iallreduce; `mpi_blocking`:
// MPI_Allreduce, which keeps a core busy; `nccl`: ncclAllReduce, on GPUs alone).
enum class Algorithm : uint8_t { halving_doubling, ring, mpi, mpi_blocking, nccl };
std::string_view name(Algorithm algorithm);  // "halving-doubling", "ring", "mpi", "mpi-blocking", "nccl"

// A network by its figures. Every rank has one port out and one port in, and each carries one message at a time.
struct Network {
  double latency = 0;    // seconds that a message takes beyond the time of its bytes
  double bandwidth = 0;  // bytes that a port carries in a second
};

}  // namespace kb
