// Memory of the device for one operand of a call.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "runtime/cuda/device.h"

namespace kb::test {

class DeviceBlock {
 public:
  // At `shift` bytes behind a multiple of 256. With a margin, bytes behind the block's end that nothing may touch, the
  // block is filled with what is not zero, as memory is that others have used; without one it ends where the allocation
  // does and is not written at all, so that tools see who reads or writes outside of it, or reads before it is written.
  static constexpr size_t kMargin = 512;
  DeviceBlock(const cuda::OpenDevice& device, int64_t bytes, size_t margin = kMargin, size_t shift = 0);
  ~DeviceBlock();
  DeviceBlock(const DeviceBlock&) = delete;
  DeviceBlock& operator=(const DeviceBlock&) = delete;

  std::byte* data() const { return reinterpret_cast<std::byte*>(address_ + shift_); }
  // As it was when made.
  void clear();
  void write(std::span<const std::byte> bytes);
  // Fails the running test where the margin has been written to.
  std::vector<std::byte> read() const;

 private:
  const cuda::OpenDevice& device_;
  const size_t bytes_, margin_, shift_;
  cuda::Address address_ = 0;
};

}  // namespace kb::test
