// The interface between the emulator and a compiled translation unit. The prelude (prelude.cpp) has the same structs in
// C++ without includes.
#pragma once
#include <cstdint>

#include "tests/simt/simt.h"

namespace kb::simt {

// Functions that the code of a unit calls. `line` counts the lines of the kernel's own text.
struct Hooks {
  void (*access)(const void* at, uint32_t bytes, uint32_t use);  // `use` is a value of Use below
  void (*shared)(void* at, uint32_t element, uint32_t count, const char* name);
  void (*barrier)(uint32_t line);
  // Every lane of `mask` gives a value, and all of them get the values of all lanes.
  void (*exchange)(uint32_t mask, uint32_t line, uint64_t value, uint64_t* values);
  void (*sync_warp)(uint32_t mask, uint32_t line);
  void (*fence)();
  void (*atomic)(const void* at, uint32_t bytes);  // called before the read-modify-write
};

// `read_constant` is __ldg, which need not see writes of this launch.
enum class Use : uint32_t { read, write, read_constant };

struct Unit {
  Dim thread, block, block_dim, grid_dim;
  const Hooks* hooks = nullptr;
  const char* image_begin = nullptr;  // bounds of the shared object's code and constants
  const char* image_end = nullptr;
};

struct Parameter {
  uint32_t element = 0;  // size of the elements that a pointer points to; 0: the parameter is a value
  uint32_t written = 0;  // 1: a pointer to memory that is not const
};

struct Entry {
  Unit* unit = nullptr;
  void (*call)(void* const* parameters) = nullptr;
  uint32_t max_threads = 0;  // number in __launch_bounds__; 0: none
  uint32_t parameters = 0;
  const Parameter* parameter = nullptr;
};

}  // namespace kb::simt
