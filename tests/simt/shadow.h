// Records, for every element that a launch may touch, who wrote it last, who read it, and when. Two accesses to one
// element, one of them a write, are ordered
//   within a block: if one thread makes both, or a barrier of the block or of the warp of both is between them;
//   between blocks: if in the first block come the access, then a fence, then an atomic on some counter (each after the
//    other in one thread, or across a barrier), and in the other block a later atomic on that counter, then a fence,
//    then the second access.
// PTX's memory model requires this of the "last block finishes" pattern. Blocks are emulated one after another, so the
// access that is seen first is the one that must be ordered first.
//   An asynchronous copy is a write when it begins and a write when it lands; nobody may access its elements between.
//   A product of a warpgroup is a read when it begins, for which the thread that wrote has to make a fence of its own
// kind before the barrier; nobody may write its elements until it ends, and then it was a read by all its threads.
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/simt/unit.h"

namespace kb::simt {

struct Stamp {
  uint32_t block = 0;  // number of the block + 1; 0: no access
  uint32_t epoch = 0;  // number of the block's barriers so far
  uint32_t warp_epoch = 0;
  uint32_t thread = 0;
  uint32_t clock = 0;  // number of the launch's fences and atomics so far
};

struct Cell {
  Stamp write, read;
  bool atomic = false;         // the write was an atomic's
  bool defined = false;        // holds a value from before the launch
  bool constant_read = false;  // was read by __ldg in this launch
  // Several blocks, warps or threads read it since the accesses were last ordered.
  bool several_blocks = false, several_warps = false, several_threads = false;
  uint16_t copying = 0;   // number + 1 of the thread with an asynchronous copy under way to it
  uint16_t products = 0;  // number of products under way that read it
};

// One array: a buffer, or an array in shared memory.
class Area {
 public:
  Area(std::string name, const void* data, int64_t bytes, int64_t element, bool defined, bool shared);
  ~Area();
  Area(Area&& other) noexcept;
  Area& operator=(Area&&) = delete;

  uintptr_t begin() const { return begin_; }
  uintptr_t end() const { return end_; }
  int64_t element() const { return element_; }
  bool shared() const { return shared_; }
  bool defined() const { return defined_; }
  bool contains(uintptr_t at) const { return at >= begin_ && at < end_; }
  // Returns the number of the element that holds the byte at an address of the array.
  int64_t index(uintptr_t at) const { return static_cast<int64_t>(at - begin_) / element_; }
  Cell& cell(int64_t number) { return cells_[number]; }
  // Returns the element at an address, as "b1[17]".
  std::string place(uintptr_t at) const;

 private:
  std::string name_;
  uintptr_t begin_, end_;
  int64_t element_;
  bool defined_, shared_;
  size_t mapped_;
  Cell* cells_;  // zeros, which take memory where they are touched
};

class Shadow {
 public:
  void add(Area area) { areas_.push_back(std::move(area)); }
  // Returns the array that contains `at`; null when there is none.
  Area* find(uintptr_t at);
  // Returns the array that contains `at`, or ends nearest before it or begins nearest after it.
  const Area* nearest(uintptr_t at) const;

  void fence(const Stamp& now);
  // Notes a fence between the thread's writes to shared memory and products.
  void show_products(const Stamp& now);
  // These check an access and record it. They return what is wrong, or "". The `bytes` bytes at `at` lie in `area`.
  // atomic() then counts `now` as an atomic of its block.
  std::string access(Area& area, uintptr_t at, uint32_t bytes, Use use, const Stamp& now);
  std::string atomic(Area& area, uintptr_t at, const Stamp& now);
  // Records that an asynchronous copy, which began as an access with Use::copy, arrives.
  void land(uintptr_t at, uint32_t bytes, const Stamp& now);
  // Records that a product, which began as an access with Use::product, has read.
  void end_product(uintptr_t at, uint32_t bytes, const Stamp& now);

 private:
  struct Fence {
    uint32_t epoch = 0, clock = 0;
  };
  struct Atomic {
    Stamp stamp;
    std::unordered_map<uint32_t, Fence> fences;  // fences of the block before it, the last one of each thread
  };
  using Atomics = std::unordered_map<uintptr_t, Atomic>;  // the last atomic of a block on each counter
  void enter(uint32_t block);
  bool ordered(const Stamp& before, const Stamp& now) const;
  bool ordered_between_blocks(const Stamp& before, const Stamp& now) const;
  static bool is_published(const Stamp& before, const Atomic& released);
  bool has_acquired(const Stamp& atomic, const Stamp& now) const;
  bool has_acquired(const Stamp& now) const;
  std::string read(Cell& cell, bool constant, bool shared, const Stamp& now) const;
  std::string write(Cell& cell, bool shared, const Stamp& now) const;
  bool shown(const Stamp& write, const Stamp& now) const;
  std::string conflict(const char* what, const Stamp& before, const Stamp& now) const;

  std::vector<Area> areas_;
  size_t last_ = 0;  // index of the area that `find` returned last
  std::unordered_map<uint32_t, Atomics> blocks_;
  std::unordered_map<uint32_t, Fence> fences_;              // fences of the threads of the running block
  std::unordered_map<uint32_t, std::vector<Fence>> shown_;  // those before products
  uint32_t running_ = 0;
};

}  // namespace kb::simt
