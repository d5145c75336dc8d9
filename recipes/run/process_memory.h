// Memory of the machine that a process of a run takes: known before its first step, and measured.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "recipes/train/train.h"

namespace kb {

// Bytes. Buffers that a library makes for itself are not counted: oneDNN's matrix products of large f32 layers have
// some ten megabytes.
struct ProcessMemory {
  int64_t programs = 0;     // with parameters and optimizer state; 0 where they lie on a GPU
  int64_t itself = 0;       // code, libraries, data sets and what the compiler left: measured
  int64_t minibatches = 0;  // filled ahead
  int64_t checkpoint = 0;   // copy of the state that is written beside the training; 0 in a process that writes none
  int64_t decoding = 0;     // of images that are held as a whole meanwhile: interlaced PNGs, progressive JPEGs
  int64_t total() const { return programs + itself + minibatches + checkpoint + decoding; }
};

// Returns what a training takes whose programs are loaded, so that all their memory is there.
ProcessMemory process_memory(const Ready& ready);
// A line.
std::string to_text(const ProcessMemory& memory);

// Returns a line about what programs and process take; with `all` every part of it. Another line says where the
// programs are within arithmetic.memory and the process as a whole is not.
std::vector<std::string> memory_lines(const Ready& ready, const ProcessMemory& memory, bool all);

// Bytes that this process has had in the machine's memory at most; 0 where the system does not say.
int64_t peak_process_bytes();

}  // namespace kb
