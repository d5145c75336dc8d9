// Machine code of kernels as `cuobjdump -sass` prints it, and how much of a multiprocessor one round of a kernel's main
// loop takes: what a model of its time needs, known without a GPU.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace kb::cuda {

// One round of a loop, by one thread. The pipes are those that Nsight Compute names.
struct LoopWork {
  int64_t instructions = 0;
  int64_t alu = 0;           // integer, logic, comparison, selection, conversion of 16-bit floats: 64 a cycle
  int64_t special = 0;       // reciprocals, roots, other conversions, in the pipe "xu": 16 a cycle
  int64_t loaded_bytes = 0;  // from global memory
  int64_t stored_bytes = 0;  // to global memory

  // Cycles of a multiprocessor that issues 128 instructions of threads a cycle: of its busiest pipe.
  double cycles() const;
};

// The main loop of every kernel in the text: of the loops before the first atomic operation, behind which the last
// block adds up what all have left, the one that moves most bytes; the kernel whole where none moves any.
std::map<std::string, LoopWork> main_loops(std::string_view sass);

// Runs `cuobjdump -sass` on a cubin and gives what it prints. Throws Error where the program is absent or refuses.
std::string disassembled(const std::string& cuobjdump, std::string_view cubin);

}  // namespace kb::cuda
