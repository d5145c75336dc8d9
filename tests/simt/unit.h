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
  // Returns the launch's dynamic shared memory, an array that is declared with an alignment of so many bytes.
  void* (*dynamic_shared)(uint32_t element, uint32_t alignment, const char* name);
  void (*barrier)(uint32_t line);
  // Every lane of `mask` gives `words` words, at most kLaneWords, and all of them get those of all lanes, lane by lane.
  void (*exchange)(uint32_t mask, uint32_t line, uint32_t words, const uint64_t* given, uint64_t* all);
  void (*sync_warp)(uint32_t mask, uint32_t line);
  void (*fence)();
  void (*atomic)(const void* at, uint32_t bytes);  // called before the read-modify-write
  // An asynchronous copy of kCopyBytes bytes, or of zeros if not `there`; the end of a group of copies; a wait for all
  // groups of the thread but the last `groups`.
  void (*copy)(void* to, const void* from, uint32_t there);
  void (*end_copies)();
  void (*wait_copies)(uint32_t groups);
  // Products of warpgroups (warpgroups.h). The descriptors hold addresses in a window of shared memory.
  uint32_t (*shared_address)(const void* at);
  void (*show_tensor_cores)();  // the fence between ordinary writes to shared memory and products
  void (*begin_products)(const float* sums, uint32_t count);                               // `count` sums of the thread
  void (*multiply)(float* sums, uint32_t columns, uint64_t a, uint64_t b, uint32_t kind);  // `kind`: bits below
  void (*end_products)();
};
inline constexpr uint32_t kTransposedA = 1, kTransposedB = 2, kProductOfF16 = 4;

constexpr uint32_t kWarp = 32;  // threads of a warp
constexpr uint32_t kLaneWords = 4, kCopyBytes = 16;

// `read_constant` is __ldg, which need not see writes of this launch; `copy` is the write of an asynchronous copy;
// `product` is the read of a product, which ends later.
enum class Use : uint32_t { read, write, read_constant, copy, product };

inline bool is_write(Use use) { return use == Use::write || use == Use::copy; }

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
