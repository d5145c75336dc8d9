// Reads the machine code of kernels as `cuobjdump -sass` prints it, and counts how much of a multiprocessor one round
// of a kernel's main loop takes. Models of a kernel's time are made of this, without a GPU.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace kb::cuda {

// The instructions of one thread in one round of a loop. The pipes have the names that Nsight Compute gives them.
struct LoopWork {
  int64_t instructions = 0;
  int64_t alu = 0;           // integer, logic, comparison, selection, conversion of 16-bit floats: 64 a cycle
  int64_t special = 0;       // reciprocals, roots, other conversions, in the pipe "xu": 16 a cycle
  int64_t loaded_bytes = 0;  // bytes read from global memory
  int64_t stored_bytes = 0;  // bytes written to global memory

  // Returns the cycles that the busiest pipe takes for one thread, on a multiprocessor that issues 128 thread
  // instructions a cycle.
  double cycles() const;
};

// Returns the main loop of every kernel in the text: the loop that moves most bytes, among those before the first
// atomic operation, after which the last block adds what the others have left. If no loop moves bytes, it is the whole
// kernel.
std::map<std::string, LoopWork> main_loops(std::string_view sass);

// Runs `cuobjdump -sass` on a cubin and returns what it prints. Throws Error when the program is missing or refuses.
std::string disassembled(const std::string& cuobjdump, std::string_view cubin);

}  // namespace kb::cuda
