#include "runtime/cuda/trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>

#include "graph/error.h"
#include "runtime/cuda/capture.h"
#include "runtime/cuda/device.h"
#include "runtime/median.h"

namespace kb::cuda {
namespace {

constexpr int kRounds = 7;
constexpr double kTie = 1.02;

constexpr const char* kHint =
    "nothing runs on the device any more; compute-sanitizer before the same command shows the access that failed; a "
    "line of this call, a tab and another implementation in the kernel cache's picks.*.txt goes before trials";

void check_device(const DeviceHandles& device, const Trials& trials, size_t i, const std::string& failure = "") {
  check_device(device, trials, fmt::format("a trial of implementation '{}'", trials.pick(i)), failure);
}

// CallMemory::kRuns runs of one implementation, captured, each on the next copy of the operands.
class CapturedRuns {
 public:
  CapturedRuns(const DeviceHandles& device, const CallMemory& memory, const Trials& trials, size_t i)
      : device_(device), graph_(captured(device.driver, device.stream, [&] {
          for (size_t run = 0; run < CallMemory::kRuns; ++run) trials.enqueue(i, run % memory.copies());
        })) {}
  CapturedRuns(const CapturedRuns&) = delete;
  CapturedRuns& operator=(const CapturedRuns&) = delete;
  ~CapturedRuns() { device_.driver.graph_exec_destroy.function(graph_); }
  void launch() const { device_.driver(device_.driver.graph_launch, graph_, device_.stream); }

 private:
  const DeviceHandles& device_;
  const CapturedExec graph_;
};

// Captures all implementations; one that fails is null. Throws when all fail, and when the device has failed.
std::vector<std::unique_ptr<CapturedRuns>> capture_all(const DeviceHandles& device, const CallMemory& memory,
                                                       const Trials& trials) {
  std::vector<std::unique_ptr<CapturedRuns>> runs(trials.count);
  std::exception_ptr fault;
  bool any = false;
  for (size_t i = 0; i < trials.count; ++i) {
    try {
      trials.enqueue(i, 0);  // loads the kernels, which is not allowed in a capture
      device.driver(device.driver.stream_synchronize, device.stream);
      runs[i] = std::make_unique<CapturedRuns>(device, memory, trials, i);
      any = true;
    } catch (const std::exception&) {
      fault = std::current_exception();
      check_device(device, trials, i, failure_of(fault));
    }
  }
  if (!any) std::rethrow_exception(fault);
  return runs;
}

}  // namespace

void check_device(const DeviceHandles& device, const Trials& trials, const std::string& who,
                  const std::string& failure) {
  try {
    device.driver(device.driver.stream_synchronize, device.stream);
  } catch (const CallError& error) {
    if (is_hardware_fault(error.result())) throw;
    const std::string first = failure.empty() || failure == error.failure() ? "" : failure + "\n  got:  ";
    throw InternalError(fmt::format("{}{}\n  in {} of {}: {}\n  hint: {}", first, error.failure(), who, trials.library,
                                    trials.call, kHint));
  }
}

std::string failure_of(const std::exception_ptr& fault) {
  try {
    std::rethrow_exception(fault);
  } catch (const CallError& error) {
    return error.failure();
  } catch (const std::exception& error) {
    return error.what();
  }
}

size_t fastest(const DeviceHandles& device, const CallMemory& memory, const Trials& trials) {
  const size_t count = trials.count;
  ensure(count > 0, "trials of nothing");
  if (count == 1) return 0;
  const auto runs = capture_all(device, memory, trials);
  std::vector<EventHandle> starts, ends;
  for (size_t i = 0; i < count; ++i) {
    starts.emplace_back(device.driver, kEventTimed);
    ends.emplace_back(device.driver, kEventTimed);
  }
  std::vector<std::vector<double>> times(count);
  for (int round = -1; round < kRounds; ++round) {  // the first round, in which clocks rise, does not count
    for (size_t i = 0; i < count; ++i) {
      if (!runs[i]) continue;
      memory.flush();
      starts[i].record(device.stream);
      runs[i]->launch();
      ends[i].record(device.stream);
      if (round < 0) check_device(device, trials, i);
    }
    check_device(device, trials, "the timed runs");
    for (size_t i = 0; round >= 0 && i < count; ++i)
      times[i].push_back(runs[i] ? ends[i].milliseconds_since(starts[i]) : HUGE_VAL);
  }
  std::vector<double> medians;
  for (auto& each : times) medians.push_back(median_of(std::move(each)));
  const double bound = *std::min_element(medians.begin(), medians.end()) * kTie;
  return static_cast<size_t>(std::find_if(medians.begin(), medians.end(), [&](double time) { return time <= bound; }) -
                             medians.begin());
}

}  // namespace kb::cuda
