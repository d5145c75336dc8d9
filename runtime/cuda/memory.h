// Memory of a device, page-locked memory of the host, and what is copied between the device and ordinary memory.
#pragma once
#include <memory>

#include "runtime/backend.h"
#include "runtime/cuda/device.h"

namespace kb::cuda {

inline Address address_of(const void* data) { return reinterpret_cast<Address>(data); }

// Zeros, at a multiple of 256; data() is an Address. Error where the device has no more.
std::unique_ptr<DeviceMemory> allocate_device(const OpenDevice& device, int64_t bytes);
// Zeros; of the host, for asynchronous copies.
std::unique_ptr<DeviceMemory> allocate_pinned(const OpenDevice& device, int64_t bytes);

// Copies in pieces through page-locked memory, on the compute stream, and so behind all that was enqueued there; done
// at return. By one thread at a time.
class Transfers {
 public:
  explicit Transfers(const OpenDevice& device);
  void upload(std::byte* to, const std::byte* from, int64_t bytes);
  void download(std::byte* to, const std::byte* from, int64_t bytes);

 private:
  const OpenDevice& device_;
  std::unique_ptr<DeviceMemory> piece_;
};

}  // namespace kb::cuda
