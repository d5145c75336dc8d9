#include "runtime/cuda/trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>

#include "graph/error.h"
#include "runtime/cuda/device.h"

namespace kb::cuda {
namespace {

constexpr int64_t kAlignment = 256;    // bytes
constexpr unsigned char kFill = 0x3c;  // f64 1.5e-17, f32 and bf16 0.011, f16 1.06
constexpr int kRounds = 7;
constexpr int kRepeats = 8;  // runs in one captured graph
constexpr double kTie = 1.02;

constexpr const char* kHint =
    "nothing runs on the device any more; compute-sanitizer before the same command shows the access that failed; a "
    "line of this call, a tab and another implementation in the kernel cache's picks.*.txt goes before trials";

// Throws where work on the device has failed that `who` did. `failure` is what a library made of it, if it told: it
// keeps the driver's result to itself.
void check_device(const DeviceHandles& device, const Trials& trials, const std::string& who,
                  const std::string& failure = "") {
  try {
    device.driver(device.driver.stream_synchronize, device.stream);
  } catch (const CallError& error) {
    if (is_hardware_fault(error.result())) throw;
    const std::string first = failure.empty() || failure == error.failure() ? "" : failure + "\n  got:  ";
    throw InternalError(fmt::format("{}{}\n  in {} of {}: {}\n  hint: {}", first, error.failure(), who, trials.library,
                                    trials.call, kHint));
  }
}

void check_device(const DeviceHandles& device, const Trials& trials, size_t i, const std::string& failure = "") {
  check_device(device, trials, fmt::format("a trial of implementation '{}'", trials.pick(i)), failure);
}

// Several runs of one implementation, captured.
class CapturedRuns {
 public:
  CapturedRuns(const DeviceHandles& device, const std::function<void()>& enqueue) : device_(device) {
    const Driver& driver = device.driver;
    driver(driver.capture_begin, device.stream, CaptureMode::thread_local_);
    Captured captured = nullptr;
    try {
      for (int i = 0; i < kRepeats; ++i) enqueue();
    } catch (...) {
      driver.capture_end.function(device.stream, &captured);
      if (captured) driver.graph_destroy.function(captured);
      throw;
    }
    driver(driver.capture_end, device.stream, &captured);
    const Result result = driver.graph_instantiate.function(&graph_, captured, 0);
    driver.graph_destroy.function(captured);
    if (result != kSuccess) driver.fail(driver.graph_instantiate.symbol, result);
  }
  CapturedRuns(const CapturedRuns&) = delete;
  CapturedRuns& operator=(const CapturedRuns&) = delete;
  ~CapturedRuns() {
    if (graph_) device_.driver.graph_exec_destroy.function(graph_);
  }
  void launch() const { device_.driver(device_.driver.graph_launch, graph_, device_.stream); }

 private:
  const DeviceHandles& device_;
  CapturedExec graph_ = nullptr;
};

std::string failure_of(const std::exception_ptr& fault) {
  try {
    std::rethrow_exception(fault);
  } catch (const CallError& error) {
    return error.failure();
  } catch (const std::exception& error) {
    return error.what();
  }
}

// Null for one that failed; throws where all did, and where the device has.
std::vector<std::unique_ptr<CapturedRuns>> capture_all(const DeviceHandles& device, const Trials& trials) {
  std::vector<std::unique_ptr<CapturedRuns>> runs(trials.count);
  std::exception_ptr fault;
  bool any = false;
  check_device(device, trials, "what ran before trials");
  for (size_t i = 0; i < trials.count; ++i) {
    try {
      trials.enqueue(i);  // loads the kernels, which a capture may not
      device.driver(device.driver.stream_synchronize, device.stream);
      runs[i] = std::make_unique<CapturedRuns>(device, [&] { trials.enqueue(i); });
      any = true;
    } catch (const std::exception&) {
      fault = std::current_exception();
      check_device(device, trials, i, failure_of(fault));
    }
  }
  if (!any) std::rethrow_exception(fault);
  return runs;
}

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

size_t fastest(const DeviceHandles& device, const Trials& trials) {
  const size_t count = trials.count;
  ensure(count > 0, "trials of nothing");
  if (count == 1) return 0;
  const auto runs = capture_all(device, trials);
  std::vector<EventHandle> events;
  for (size_t i = 0; i <= count; ++i) events.emplace_back(device.driver, kEventTimed);
  std::vector<std::vector<double>> times(count);
  for (int round = -1; round < kRounds; ++round) {  // the first, which finds cold caches, does not count
    events[0].record(device.stream);
    for (size_t i = 0; i < count; ++i) {
      if (runs[i]) runs[i]->launch();
      if (round < 0) check_device(device, trials, i);
      events[i + 1].record(device.stream);
    }
    check_device(device, trials, "the timed runs");
    for (size_t i = 0; round >= 0 && i < count; ++i)
      times[i].push_back(runs[i] ? events[i + 1].milliseconds_since(events[i]) : HUGE_VAL);
  }
  std::vector<double> medians;
  for (auto& each : times) medians.push_back(median(std::move(each)));
  const double bound = *std::min_element(medians.begin(), medians.end()) * kTie;
  return static_cast<size_t>(std::find_if(medians.begin(), medians.end(), [&](double time) { return time <= bound; }) -
                             medians.begin());
}

}  // namespace kb::cuda
