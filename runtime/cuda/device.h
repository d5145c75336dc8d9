// An open device: its context, the streams of computation, of input copies, of sums over ranks.
#pragma once
#include <memory>
#include <string>

#include "runtime/cuda/driver.h"

namespace kb::cuda {

// Whoever has to look after something while the host waits for a device.
class DeviceWatch {
 public:
  virtual ~DeviceWatch() = default;
  virtual void begin() = 0;
  virtual void look() = 0;  // now and then; what it throws ends the wait
  virtual void end() = 0;
};

class OpenDevice {
 public:
  // The driver has been initialised; it outlives this.
  OpenDevice(const Driver& driver, int ordinal);
  ~OpenDevice();
  OpenDevice(const OpenDevice&) = delete;
  OpenDevice& operator=(const OpenDevice&) = delete;

  // To be called by every thread before it calls the driver.
  void make_current() const { driver(driver.context_set_current, context_); }
  // For destructors.
  void try_make_current() const noexcept { driver.context_set_current.function(context_); }
  // For all streams, one, or an event; throw CallError where work that was enqueued failed.
  void wait() const;
  void wait(Stream stream) const;
  void wait(Event event) const;
  // Looks from now on whenever the host waits; null: nobody does.
  void set_watch(DeviceWatch* watch) { watch_ = watch; }

  const Driver& driver;
  Device handle = 0;
  std::string name;        // "NVIDIA H200"
  int capability = 0;      // 90: sm_90
  int processors = 0;      // multiprocessors
  int driver_version = 0;  // 13000
  int64_t memory = 0;      // bytes
  Stream compute = nullptr, copies = nullptr, communication = nullptr;

 private:
  int attribute(DeviceAttribute which) const;
  template <class Query, class Handle>
  void poll(const Query& query, Handle handle) const;

  Context context_ = nullptr;
  DeviceWatch* watch_ = nullptr;
};

// An event without a clock, or with one. Its context is current on the threads that make and destroy it.
class EventHandle {
 public:
  explicit EventHandle(const Driver& driver, unsigned flags = kEventUntimed);
  ~EventHandle();
  EventHandle(EventHandle&& other) noexcept;
  EventHandle& operator=(EventHandle&&) = delete;
  Event get() const { return event_; }

  void record(Stream stream) const { driver_(driver_.event_record, event_, stream); }
  void wait_on(Stream stream) const { driver_(driver_.stream_wait, stream, event_, 0u); }
  double milliseconds_since(const EventHandle& start) const;

 private:
  const Driver& driver_;
  Event event_ = nullptr;
};

}  // namespace kb::cuda
