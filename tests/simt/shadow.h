// Keeps, for every element that a launch may touch, who wrote it and who read it last, and when. Two accesses to
// one element, one of them a write, are ordered
//   within a block: if they are one thread's, or a barrier of the block lies between, or one of their warp;
//   between blocks: if the first, then a fence, then an atomic of its block on some counter come one after the other
//   (each step in one thread, or across a barrier), and in the other block a later atomic on that counter, then a
//   fence, then the second access.
// This is what PTX's memory model asks of the "last block finishes" pattern. Blocks run one after the other, so of two
// accesses the one seen first is the one that would have to come first.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/simt/unit.h"

namespace kb::simt {

struct Stamp {
  uint32_t block = 0;  // number of the block + 1; 0: never
  uint32_t epoch = 0;  // barriers of the block so far
  uint32_t warp_epoch = 0;
  uint32_t thread = 0;
  uint32_t clock = 0;  // fences and atomics of the launch so far
};

struct Cell {
  Stamp write, read;
  bool atomic = false;                                                          // the write was an atomic's
  bool defined = false;                                                         // holds a value from before the launch
  bool constant_read = false;                                                   // by __ldg in this launch
  bool several_blocks = false, several_warps = false, several_threads = false;  // read it since the last order
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
  Cell& cell(int64_t number) { return cells_[number]; }
  // "b1[17]"
  std::string place(uintptr_t at) const;

 private:
  std::string name_;
  uintptr_t begin_, end_;
  int64_t element_;
  bool defined_, shared_;
  size_t mapped_;
  Cell* cells_;  // zeros, given memory where they are touched
};

class Shadow {
 public:
  void add(Area area) { areas_.push_back(std::move(area)); }
  // The array that holds `at`, or null.
  Area* find(uintptr_t at);
  // The one that ends nearest before it or begins nearest behind it.
  const Area* nearest(uintptr_t at) const;

  void fence(const Stamp& now);
  // Empty, or what is wrong. `bytes` from `at` lie in `area`. Takes `now` after the atomic.
  std::string access(Area& area, uintptr_t at, uint32_t bytes, Use use, const Stamp& now);
  std::string atomic(Area& area, uintptr_t at, const Stamp& now);

 private:
  struct Fence {
    uint32_t epoch = 0, clock = 0;
  };
  struct Block {
    Stamp atomic;                                // its last atomic
    uintptr_t counter = 0;                       // on this
    std::unordered_map<uint32_t, Fence> fences;  // before it, of each thread the last
  };
  bool ordered(const Stamp& before, const Stamp& now) const;
  bool ordered_between_blocks(const Stamp& before, const Stamp& now) const;
  bool has_acquired(const Stamp& now) const;
  std::string read(Cell& cell, bool constant, bool shared, const Stamp& now) const;
  std::string write(Cell& cell, bool shared, const Stamp& now) const;
  std::string conflict(const char* what, const Stamp& before, const Stamp& now) const;

  std::vector<Area> areas_;
  size_t last_ = 0;  // where `find` found the last
  std::unordered_map<uint32_t, Block> blocks_;
  std::unordered_map<uint32_t, Fence> fences_;  // of the threads of the running block
  uint32_t running_ = 0;
};

}  // namespace kb::simt
