// CUDA kernels that are written by hand in the style of the printed ones, and launches of them on vectors of floats.
#pragma once
#include <string>
#include <vector>

#include "tests/simt/simt.h"

namespace kb::simt {

const std::vector<std::string>& hand_kernels();
// Returns the text of kernel `name`.
const std::string& hand_kernel(const std::string& name);

struct HandBuffer {
  size_t elements = 0;
  float value = 0;
};

struct HandLaunch {
  HandLaunch(const std::vector<HandBuffer>& buffers, std::vector<long long> numbers, Dim grid, Dim block);

  void run(const Program& program, const std::string& name);

  std::vector<std::vector<float>> buffers;
  std::vector<long long> numbers;
  Launch settings;
  bool defined = true;
  bool same_memory = false;  // true: the first buffer is given twice
};

// Runs a launch. Returns the message of its fault; empty when there is none.
std::string fault(const Program& program, const std::string& name, HandLaunch& launch);

// Returns a copy of a kernel `name` with one fault: `by` stands in place of `what`, which the text has once.
std::string planted(std::string text, const std::string& name, const std::string& what, const std::string& by);

// Returns the launch in which five blocks of 256 threads add 1280 threes. Its parameters are x, partial sums, a
// counter, the sum and the number of blocks.
HandLaunch block_sums();

}  // namespace kb::simt
