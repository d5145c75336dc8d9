#include "runtime/cuda/trials.h"

#include <algorithm>
#include <utility>

#include "graph/error.h"

namespace kb::cuda {
namespace {

constexpr int64_t kAlignment = 256;    // bytes
constexpr unsigned char kFill = 0x3c;  // f64 1.5e-17, f32 and bf16 0.011, f16 1.06
constexpr int kRounds = 7;
constexpr double kTie = 1.02;

class TimedEvent {
 public:
  explicit TimedEvent(const Driver& driver) : driver_(driver) { driver(driver.event_create, &event_, kEventTimed); }
  TimedEvent(TimedEvent&& other) noexcept : driver_(other.driver_), event_(std::exchange(other.event_, nullptr)) {}
  ~TimedEvent() {
    if (event_) driver_.event_destroy.function(event_);
  }
  void record(Stream stream) const { driver_(driver_.event_record, event_, stream); }
  double milliseconds_since(const TimedEvent& earlier) const {
    float elapsed = 0;
    driver_(driver_.event_elapsed, &elapsed, earlier.event_, event_);
    return elapsed;
  }

 private:
  const Driver& driver_;
  Event event_ = nullptr;
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

TrialMemory::TrialMemory(const DeviceHandles& device, std::span<const int64_t> bytes) : driver_(device.driver) {
  std::vector<int64_t> offsets;
  int64_t total = 0;
  for (const int64_t part : bytes) {
    offsets.push_back(total);
    total += (part + kAlignment - 1) / kAlignment * kAlignment;
  }
  const auto size = static_cast<size_t>(std::max(total, kAlignment));
  driver_(driver_.memory_allocate, &memory_, size);
  driver_(driver_.fill_bytes, memory_, kFill, size, device.stream);
  for (const int64_t offset : offsets)
    parts_.push_back(reinterpret_cast<void*>(memory_ + static_cast<Address>(offset)));
}

TrialMemory::~TrialMemory() { driver_.memory_free.function(memory_); }

size_t fastest(const DeviceHandles& device, size_t count, const std::function<void(size_t)>& enqueue) {
  ensure(count > 0, "trials of nothing");
  if (count == 1) return 0;
  std::vector<TimedEvent> events;
  for (size_t i = 0; i <= count; ++i) events.emplace_back(device.driver);
  std::vector<std::vector<double>> times(count);
  for (int round = -1; round < kRounds; ++round) {  // the first, which loads the kernels, does not count
    events[0].record(device.stream);
    for (size_t i = 0; i < count; ++i) {
      enqueue(i);
      events[i + 1].record(device.stream);
    }
    device.driver(device.driver.stream_synchronize, device.stream);
    for (size_t i = 0; round >= 0 && i < count; ++i) times[i].push_back(events[i + 1].milliseconds_since(events[i]));
  }
  std::vector<double> medians;
  for (auto& each : times) medians.push_back(median(std::move(each)));
  const double bound = *std::min_element(medians.begin(), medians.end()) * kTie;
  return static_cast<size_t>(std::find_if(medians.begin(), medians.end(), [&](double time) { return time <= bound; }) -
                             medians.begin());
}

}  // namespace kb::cuda
