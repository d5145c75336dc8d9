// Device memory for the trials of one library call. A run finds what it would find in a step: operands of random
// numbers, none of them in the device's cache.
#pragma once
#include <span>
#include <vector>

#include "runtime/cuda/library.h"

namespace kb::cuda {

struct TrialOperand {
  int64_t bytes = 0;
  DType dtype = DType::f32;
};

// The memory of one call's trials; the destructor frees it. Every operand is at a multiple of 256 bytes and uniform in
// (-0.5, 0.5), the same numbers every time: constants and zeros would draw less power than data, and so run at higher
// clocks.
class CallMemory {
 public:
  // In a trial of this many runs one after another, no run finds operands of the one before in the cache.
  static constexpr size_t kRuns = 8;

  // `scratch` is the bytes that all runs share. More than one copy of the operands is made only within half of the
  // device's free memory.
  CallMemory(const DeviceHandles& device, std::span<const TrialOperand> operands, int64_t scratch);
  CallMemory(const CallMemory&) = delete;
  CallMemory& operator=(const CallMemory&) = delete;

  // Returns the number of copies of all operands: enough that twice the cache is touched before one is used again, at
  // most kRuns.
  size_t copies() const { return copies_; }
  void* operand(size_t copy, size_t i) const { return at(static_cast<int64_t>(copy) * one_ + offsets_[i]); }
  void* scratch() const { return at(static_cast<int64_t>(copies_) * one_); }
  // Enqueues work that leaves nothing of the operands in the cache.
  void flush() const;

 private:
  struct Block {
    Block(const Driver& driver, int64_t bytes);
    ~Block();
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;
    const Driver& driver;
    Address address = 0;
  };

  int64_t place(std::span<const TrialOperand> operands, int64_t scratch);
  void fill(size_t i, const TrialOperand& operand) const;
  void* at(int64_t offset) const { return reinterpret_cast<void*>(memory_.address + static_cast<Address>(offset)); }

  const DeviceHandles device_;
  std::vector<int64_t> offsets_;  // offset of each operand
  int64_t one_ = 0;               // bytes of one copy of all operands
  size_t copies_ = 1;
  int64_t flush_at_ = 0, flush_ = 0;  // offset and bytes of the memory that flushes the cache
  Block memory_;
};

}  // namespace kb::cuda
