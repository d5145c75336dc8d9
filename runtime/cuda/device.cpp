#include "runtime/cuda/device.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <thread>
#include <utility>

namespace kb::cuda {
namespace {

constexpr std::chrono::microseconds kBetweenLooks{20};
// The first that converts bf16, copies to shared memory beside other work, and multiplies matrices of 16 x 8 x 16.
constexpr int kLeastCapability = 80;

}  // namespace

OpenDevice::OpenDevice(const Driver& the_driver, int ordinal) : driver(the_driver) {
  driver(driver.driver_version, &driver_version);
  driver(driver.device_get, &handle, ordinal);
  std::array<char, 256> text{};
  driver(driver.device_name, text.data(), static_cast<int>(text.size()) - 1, handle);
  name = text.data();
  capability = 10 * attribute(DeviceAttribute::capability_major) + attribute(DeviceAttribute::capability_minor);
  if (capability < kLeastCapability)
    throw Error(
        fmt::format("no GPU can be used\n  expected: compute capability {}.{} or higher\n  got:      {}.{} of "
                    "device {}, {}\n  hint:     --device cpu",
                    kLeastCapability / 10, kLeastCapability % 10, capability / 10, capability % 10, ordinal, name));
  processors = attribute(DeviceAttribute::multiprocessors);
  block_storage = attribute(DeviceAttribute::most_block_storage);
  driver(driver.context_retain, &context_, handle);
  make_current();
  size_t free = 0, total = 0;
  driver(driver.memory_info, &free, &total);
  memory = static_cast<int64_t>(total);
  driver(driver.stream_create, &compute, kStreamNonBlocking);
  driver(driver.stream_create, &copies, kStreamNonBlocking);
  driver(driver.stream_create, &communication, kStreamNonBlocking);
  driver(driver.stream_create, &beside, kStreamNonBlocking);
}

// Failures are ignored: the call that met a fault first has reported it, and nobody can be told here.
OpenDevice::~OpenDevice() {
  try_make_current();
  for (Stream stream : {copies, communication, beside, compute}) {
    driver.stream_synchronize.function(stream);
    driver.stream_destroy.function(stream);
  }
  driver.context_release.function(handle);
}

int OpenDevice::attribute(DeviceAttribute which) const {
  int value = 0;
  driver(driver.device_attribute, &value, which, handle);
  return value;
}

void OpenDevice::wait() const {
  for (Stream stream : {copies, communication, beside, compute}) wait(stream);
}

void OpenDevice::wait(Stream stream) const {
  if (watch_) return poll(driver.stream_query, stream);
  driver(driver.stream_synchronize, stream);
}

void OpenDevice::wait(Event event) const {
  if (watch_) return poll(driver.event_query, event);
  driver(driver.event_synchronize, event);
}

// Waits by asking again and again, because a wait inside the driver would not end when another rank has died.
template <class Query, class Handle>
void OpenDevice::poll(const Query& query, Handle handle) const {
  for (bool waits = false;; waits = true) {
    const Result result = query.function(handle);
    if (result != kSuccess && result != kNotReady) driver.fail(query.symbol, result);
    if (!waits && result == kNotReady) watch_->begin();
    watch_->look();
    if (result == kSuccess) {
      if (waits) watch_->end();
      return;
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

EventHandle::EventHandle(const Driver& driver, unsigned flags) : driver_(driver) {
  driver(driver.event_create, &event_, flags);
}

EventHandle::EventHandle(EventHandle&& other) noexcept
    : driver_(other.driver_), event_(std::exchange(other.event_, nullptr)) {}

EventHandle::~EventHandle() {
  if (event_) driver_.event_destroy.function(event_);
}

double EventHandle::milliseconds_since(const EventHandle& start) const {
  float milliseconds = 0;
  driver_(driver_.event_elapsed, &milliseconds, start.event_, event_);
  return milliseconds;
}

}  // namespace kb::cuda
