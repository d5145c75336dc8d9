// How the processes of a run sum their arrays, and the network between them: what a command line names.
#pragma once
#include <cstdint>
#include <string_view>

namespace kb {

// How a reduction travels. `halving_doubling` is exact: its sum is one fixed binary tree over the ranks,
//   T(a..b) = T(first m of them) + T(rest), m the largest power of two below their count,
// whatever the size of the array and wherever the ranks run, and every operand is rounded to the array's dtype. The
// others sum in an order that depends on sizes (`ring`) or is the MPI library's own (`mpi`: MPI_Iallreduce;
// `mpi_blocking`: MPI_Allreduce, which waits on a core of its own; `nccl`: ncclAllReduce, on GPUs alone).
enum class Algorithm : uint8_t { halving_doubling, ring, mpi, mpi_blocking, nccl };
std::string_view name(Algorithm algorithm);  // "halving-doubling", "ring", "mpi", "mpi-blocking", "nccl"
// Throws Error on an unknown name.
Algorithm parse_algorithm(std::string_view text);

// A described network: every rank has one port out and one in, each carrying one message at a time.
struct Network {
  double latency = 0;    // seconds a message is under way beyond its bytes' time
  double bandwidth = 0;  // bytes a second
};

}  // namespace kb
