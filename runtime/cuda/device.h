// An open device: its context, and the streams of computation, of input copies, and of sums over ranks.
#pragma once
#include <memory>
#include <string>

#include "runtime/cuda/driver.h"

namespace kb::cuda {

// Something that must be looked after while the host waits for a device.
class DeviceWatch {
 public:
  virtual ~DeviceWatch() = default;
  virtual void begin() = 0;
  virtual void look() = 0;  // called now and then; what it throws ends the wait
  virtual void end() = 0;
};

class OpenDevice {
 public:
  // Opens the device. The driver has been initialised and must outlive it. Throws Error for a device that is too old.
  OpenDevice(const Driver& driver, int ordinal);
  ~OpenDevice();
  OpenDevice(const OpenDevice&) = delete;
  OpenDevice& operator=(const OpenDevice&) = delete;

  // Every thread calls this before it calls the driver.
  void make_current() const { driver(driver.context_set_current, context_); }
  // Does the same without throwing, for destructors.
  void try_make_current() const noexcept { driver.context_set_current.function(context_); }
  // Wait for all streams, for one, or for an event. Each throws CallError when enqueued work failed.
  void wait() const;
  void wait(Stream stream) const;
  void wait(Event event) const;
  // From now on `watch` is called whenever the host waits; null: nothing is.
  void set_watch(DeviceWatch* watch) { watch_ = watch; }

  const Driver& driver;
  Device handle = 0;
  std::string name;        // a text: "NVIDIA H200"
  int capability = 0;      // compute capability; 90 is sm_90
  int processors = 0;      // number of multiprocessors
  int block_storage = 0;   // bytes of shared memory that a block can ask for
  int driver_version = 0;  // 13000 is CUDA 13.0
  int64_t memory = 0;      // bytes of the device's memory
  // `beside` computes what may run beside `compute`: lane 1 (compiler/step_programs.h).
  Stream compute = nullptr, copies = nullptr, communication = nullptr, beside = nullptr;

 private:
  int attribute(DeviceAttribute which) const;
  template <class Query, class Handle>
  void poll(const Query& query, Handle handle) const;

  Context context_ = nullptr;
  DeviceWatch* watch_ = nullptr;
};

// An event, with or without a clock. Its context must be current on the threads that make and destroy it.
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
