// Memory of a device, page-locked memory of the host, and copies between the device and ordinary memory.
#pragma once
#include <memory>

#include "runtime/backend.h"
#include "runtime/cuda/device.h"

namespace kb::cuda {

inline Address address_of(const void* data) { return reinterpret_cast<Address>(data); }

// Returns zeroed memory at a multiple of 256; data() is an Address. Throws Error when the device has no more.
std::unique_ptr<DeviceMemory> allocate_device(const OpenDevice& device, int64_t bytes);
// Returns zeroed, page-locked memory of the host, for asynchronous copies.
std::unique_ptr<DeviceMemory> allocate_pinned(const OpenDevice& device, int64_t bytes);

// Copies in pieces through page-locked memory, on the compute stream and so after all that was enqueued there. A call
// returns when the copy is done. One thread at a time uses it.
class Transfers {
 public:
  explicit Transfers(const OpenDevice& device);
  void upload(std::byte* target, const std::byte* source, int64_t bytes);
  void download(std::byte* target, const std::byte* source, int64_t bytes);

 private:
  const OpenDevice& device_;
  std::unique_ptr<DeviceMemory> piece_;
};

}  // namespace kb::cuda
