// Memory of the machine that a process of a run takes: known before its first step, and measured.
#pragma once
#include <cstdint>
#include <string>

#include "recipes/run/run_setup.h"

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

// `setup`: whose programs are loaded, so that all they take is there.
ProcessMemory process_memory(const RunSetup& setup);
// A line.
std::string to_text(const ProcessMemory& memory);

// A line about what programs and process take; with --memory-report and --dry-run every part of it. Another where the
// programs are within --memory and the process as a whole is not.
std::vector<std::string> memory_lines(const RunSetup& setup, const ProcessMemory& memory);

// Bytes that this process has had in the machine's memory at most; 0 where the system does not say.
int64_t peak_process_bytes();

}  // namespace kb
