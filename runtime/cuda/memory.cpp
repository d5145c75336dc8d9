#include "runtime/cuda/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace kb::cuda {
namespace {

constexpr int64_t kPiece = 8 << 20;

size_t at_least_one(int64_t bytes) { return static_cast<size_t>(std::max<int64_t>(bytes, 1)); }

// Calls `allocate`. If there is no memory left, says `where` and how much of the device's is free.
template <class Allocate>
void allocate_or_say(const OpenDevice& device, const char* where, int64_t bytes, Allocate&& allocate) try {
  device.make_current();
  allocate();
} catch (const CallError& error) {
  if (error.result() != kOutOfMemory) throw;
  size_t free = 0, total = 0;
  device.driver.memory_info.function(&free, &total);
  throw Error(
      fmt::format("out of memory {}: {} bytes were asked for\n  got:  {}\n  free: {} of {} bytes of {}\n  hint: "
                  "a smaller --minibatch takes less",
                  where, bytes, error.what(), free, total, device.name));
}

class OnDevice : public DeviceMemory {
 public:
  OnDevice(const OpenDevice& device, int64_t bytes) : device_(device), bytes_(bytes) {
    const Driver& driver = device.driver;
    allocate_or_say(device, "on the device", bytes,
                    [&] { driver(driver.memory_allocate, &address_, at_least_one(bytes)); });
    driver(driver.fill_bytes, address_, static_cast<unsigned char>(0), at_least_one(bytes), device.compute);
    driver(driver.stream_synchronize, device.compute);  // the next write may be on another stream
  }
  // cuMemFree waits until the device has finished its work with this memory.
  ~OnDevice() override {
    device_.try_make_current();
    device_.driver.memory_free.function(address_);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

  std::byte* data() override { return reinterpret_cast<std::byte*>(address_); }
  int64_t bytes() const override { return bytes_; }

 private:
  const OpenDevice& device_;
  int64_t bytes_;
  Address address_ = 0;
};

class Pinned : public DeviceMemory {
 public:
  Pinned(const OpenDevice& device, int64_t bytes) : device_(device), bytes_(bytes) {
    allocate_or_say(device, "for page-locked memory of the host", bytes,
                    [&] { device.driver(device.driver.host_allocate, &data_, at_least_one(bytes), 0u); });
    std::memset(data_, 0, at_least_one(bytes));
  }
  ~Pinned() override {
    device_.try_make_current();
    device_.driver.host_free.function(data_);
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

  std::byte* data() override { return static_cast<std::byte*>(data_); }
  int64_t bytes() const override { return bytes_; }

 private:
  const OpenDevice& device_;
  int64_t bytes_;
  void* data_ = nullptr;
};

}  // namespace

std::unique_ptr<DeviceMemory> allocate_device(const OpenDevice& device, int64_t bytes) {
  return std::make_unique<OnDevice>(device, bytes);
}

std::unique_ptr<DeviceMemory> allocate_pinned(const OpenDevice& device, int64_t bytes) {
  return std::make_unique<Pinned>(device, bytes);
}

Transfers::Transfers(const OpenDevice& device) : device_(device), piece_(allocate_pinned(device, kPiece)) {}

void Transfers::upload(std::byte* target, const std::byte* source, int64_t bytes) {
  const Driver& driver = device_.driver;
  device_.make_current();
  for (int64_t at = 0; at < bytes; at += kPiece) {
    const auto part = static_cast<size_t>(std::min(kPiece, bytes - at));
    std::memcpy(piece_->data(), source + at, part);
    driver(driver.copy_to_device, address_of(target + at), piece_->data(), part, device_.compute);
    device_.wait(device_.compute);
  }
}

void Transfers::download(std::byte* target, const std::byte* source, int64_t bytes) {
  const Driver& driver = device_.driver;
  device_.make_current();
  for (int64_t at = 0; at < bytes; at += kPiece) {
    const auto part = static_cast<size_t>(std::min(kPiece, bytes - at));
    driver(driver.copy_to_host, piece_->data(), address_of(source + at), part, device_.compute);
    device_.wait(device_.compute);
    std::memcpy(target + at, piece_->data(), part);
  }
}

}  // namespace kb::cuda
