// Device memory for one operand of a call.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "runtime/cuda/device.h"

namespace kb::test {

class DeviceBlock {
 public:
  // The block begins `shift` bytes after a multiple of 256. With a margin, bytes after the block's end that nothing may
  // touch, the block is filled with values other than zero, as used memory is. Without one it ends with the allocation
  // and is not written, so that tools see accesses outside of it and reads before the first write.
  static constexpr size_t kMargin = 512;
  DeviceBlock(const cuda::OpenDevice& device, int64_t bytes, size_t margin = kMargin, size_t shift = 0);
  ~DeviceBlock();
  DeviceBlock(const DeviceBlock&) = delete;
  DeviceBlock& operator=(const DeviceBlock&) = delete;

  std::byte* data() const { return reinterpret_cast<std::byte*>(address_ + shift_); }
  // Makes the block as it was at first.
  void clear();
  void write(std::span<const std::byte> bytes);
  // Returns the block's bytes. Fails the running test when the margin was written to.
  std::vector<std::byte> read() const;

 private:
  const cuda::OpenDevice& device_;
  const size_t bytes_, margin_, shift_;
  cuda::Address address_ = 0;
};

}  // namespace kb::test
