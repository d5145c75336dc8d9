// The two ends of the wire between the emulator and a compiled translation unit: the same structs stand, in C++ without
// includes, in the prelude (prelude.cpp).
#pragma once
#include <cstdint>

#include "tests/simt/simt.h"

namespace kb::simt {

// Functions that the code of a unit calls. `line` counts in the kernel's own text.
struct Hooks {
  void (*access)(const void* at, uint32_t bytes, uint32_t use);  // use: Use below
  void (*shared)(void* at, uint32_t element, uint32_t count, const char* name);
  void (*barrier)(uint32_t line);
  // Every lane of `mask` gives a value; all get the values of all lanes.
  void (*exchange)(uint32_t mask, uint32_t line, uint64_t value, uint64_t* values);
  void (*sync_warp)(uint32_t mask, uint32_t line);
  void (*fence)();
  void (*atomic)(const void* at, uint32_t bytes);  // before the read-modify-write itself
};

enum class Use : uint32_t { read, write, read_constant };  // read_constant: __ldg, which sees no write of this launch

struct Unit {
  Dim thread, block, block_dim, grid_dim;
  const Hooks* hooks = nullptr;
  const char* image_begin = nullptr;  // code and constants of the shared object
  const char* image_end = nullptr;
};

struct Parameter {
  uint32_t element = 0;  // size of what a pointer leads to; 0: a value
  uint32_t written = 0;  // not a pointer to const
};

struct Entry {
  Unit* unit = nullptr;
  void (*call)(void* const* parameters) = nullptr;
  uint32_t max_threads = 0;  // __launch_bounds__; 0: none
  uint32_t parameters = 0;
  const Parameter* parameter = nullptr;
};

}  // namespace kb::simt
