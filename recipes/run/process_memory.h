// Tells how much host memory a process of a run takes: forecast before its first step, and measured.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "recipes/train/train.h"

namespace kb {

// Bytes of host memory. Buffers that a library makes for itself are not counted; those of oneDNN's matrix products of
// large f32 layers take some ten megabytes.
struct ProcessMemory {
  int64_t programs = 0;     // programs with parameters and optimizer state; 0 if they are on a GPU
  int64_t itself = 0;       // code, libraries, data sets and what the compiler left: measured
  int64_t minibatches = 0;  // minibatches that are filled ahead
  int64_t checkpoint = 0;   // copy of the state, written while training goes on; 0 in a process that writes none
  int64_t decoding = 0;     // images that are held whole while decoded: interlaced PNGs, progressive JPEGs
  int64_t total() const { return programs + itself + minibatches + checkpoint + decoding; }
};

// Returns the memory of a training whose programs are loaded, and thus have all their memory.
ProcessMemory process_memory(const Ready& ready);
// Returns the total and its parts, on two lines.
std::string to_text(const ProcessMemory& memory);

// Returns a note if `processes` of a machine that take so much each need more memory than it has; else "".
std::string over_machine_note(int64_t process_bytes, int64_t processes, int64_t machine_bytes);

// Returns a line about the memory of programs and process; with `all`, lines about every part. Another line says so if
// the programs are within arithmetic.memory and the process as a whole is not, or if the processes of this machine
// need more than it has.
std::vector<std::string> memory_lines(const Ready& ready, const ProcessMemory& memory, bool all);

// Returns the bytes of parameters and running statistics, and of the optimizer's state if `slots`.
int64_t state_bytes(const StateStore& store, bool slots = true);

// Returns the most bytes of host memory that this process has had; 0 if the system does not say.
int64_t peak_process_bytes();

}  // namespace kb
