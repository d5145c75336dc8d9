#include "runtime/cuda/trials.h"

#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>

#include "graph/dtype.h"
#include "graph/error.h"
#include "tests/support/says.h"

namespace kb::cuda::trials_test {

using namespace kb::cuda;
using kb::DType;
using kb::test::says;

namespace {

// A device on which time passes only while work runs, directly or from a graph. Events note the time.
struct Clock {
  double now = 0;        // milliseconds
  double captured = -1;  // milliseconds of the graph being captured; -1: none
  std::vector<double> graphs;
  int launches = 0, live_graphs = 0;
  double (*factor)(int launch) = [](int) { return 1.0; };
  std::vector<double> events;
  int64_t allocated = 0, cache = 1 << 20, free_memory = int64_t{1} << 30;  // bytes
  std::map<Address, int64_t> fills;                                        // bytes, by address
  int live_events = 0, live_memory = 0;
  int64_t warm = -1;        // the copy of operands that a run would find in the cache; -1: none
  Result fault = kSuccess;  // result of all waits from now on
};
Clock* current = nullptr;

Event event_of(size_t i) { return reinterpret_cast<Event>(i + 1); }
size_t index_of(Event event) { return reinterpret_cast<size_t>(event) - 1; }

struct FakeDevice {
  FakeDevice() {
    current = &clock;
    driver.event_create.function = [](Event* event, unsigned flags) {
      BOOST_TEST(flags == kEventTimed);
      current->events.push_back(0);
      ++current->live_events;
      *event = event_of(current->events.size() - 1);
      return kSuccess;
    };
    driver.event_destroy.function = [](Event) { return --current->live_events, kSuccess; };
    driver.event_record.function = [](Event event, Stream) {
      current->events[index_of(event)] = current->now;
      return kSuccess;
    };
    driver.event_elapsed.function = [](float* time, Event from, Event to) {
      *time = static_cast<float>(current->events[index_of(to)] - current->events[index_of(from)]);
      return kSuccess;
    };
    driver.capture_begin.function = [](Stream, CaptureMode) { return current->captured = 0, kSuccess; };
    driver.capture_end.function = [](Stream, Captured* graph) {
      current->graphs.push_back(current->captured);
      current->captured = -1;
      *graph = reinterpret_cast<Captured>(current->graphs.size());
      return ++current->live_graphs, kSuccess;
    };
    driver.graph_instantiate.function = [](CapturedExec* exec, Captured graph, unsigned long long) {
      *exec = reinterpret_cast<CapturedExec>(graph);
      return ++current->live_graphs, kSuccess;
    };
    driver.graph_destroy.function = [](Captured) { return --current->live_graphs, kSuccess; };
    driver.graph_exec_destroy.function = [](CapturedExec) { return --current->live_graphs, kSuccess; };
    driver.graph_launch.function = [](CapturedExec exec, Stream) {
      current->now += current->graphs[reinterpret_cast<size_t>(exec) - 1] * current->factor(current->launches++);
      return kSuccess;
    };
    driver.stream_synchronize.function = [](Stream) { return current->fault; };
    driver.device_attribute.function = [](int* value, DeviceAttribute which, Device) {
      BOOST_TEST((which == DeviceAttribute::l2_cache_bytes));
      return *value = static_cast<int>(current->cache), kSuccess;
    };
    driver.memory_info.function = [](size_t* free, size_t*) {
      return *free = static_cast<size_t>(current->free_memory), kSuccess;
    };
    driver.host_allocate.function = [](void** memory, size_t bytes, unsigned) {
      return ++current->live_memory, *memory = std::malloc(bytes), kSuccess;
    };
    driver.host_free.function = [](void* memory) { return --current->live_memory, std::free(memory), kSuccess; };
    driver.copy_to_device.function = [](Address to, const void* from, size_t bytes, Stream) {
      return std::memcpy(reinterpret_cast<void*>(to), from, bytes), kSuccess;
    };
    driver.copy_on_device.function = [](Address to, Address from, size_t bytes, Stream) {
      return std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes), kSuccess;
    };
    driver.memory_allocate.function = [](Address* memory, size_t bytes) {
      current->allocated += static_cast<int64_t>(bytes);
      ++current->live_memory;
      *memory = reinterpret_cast<Address>(std::aligned_alloc(256, bytes));
      return kSuccess;
    };
    driver.memory_free.function = [](Address memory) {
      std::free(reinterpret_cast<void*>(memory));
      return --current->live_memory, kSuccess;
    };
    driver.fill_bytes.function = [](Address memory, unsigned char value, size_t bytes, Stream) {
      std::fill_n(reinterpret_cast<unsigned char*>(memory), bytes, value);
      current->fills[memory] = static_cast<int64_t>(bytes);
      current->warm = -1;
      return kSuccess;
    };
  }
  ~FakeDevice() {
    BOOST_TEST(clock.live_events == 0);
    BOOST_TEST(clock.live_graphs == 0);
    BOOST_TEST(clock.live_memory == 0);
    current = nullptr;
  }

  // Runs, or captures, work of `time` milliseconds.
  void run(double time) { (clock.captured < 0 ? clock.now : clock.captured) += time; }
  size_t fastest(size_t count, const std::function<void(size_t)>& enqueue) {
    return fastest_on(256, count, [&](size_t i, size_t) { enqueue(i); });
  }
  // Returns the fastest implementation of a call with one operand of `bytes` bytes.
  size_t fastest_on(int64_t bytes, size_t count, const std::function<void(size_t, size_t)>& enqueue) {
    const CallMemory memory(handles, std::array{TrialOperand{bytes, DType::f32}}, 0);
    return kb::cuda::fastest(
        handles, memory,
        {"a library 1.2", "a call", count, [](size_t i) { return "pick " + std::to_string(i); }, enqueue});
  }

  Clock clock;
  Driver driver;
  DeviceHandles handles{driver};
};

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_trials)

BOOST_AUTO_TEST_CASE(the_shortest_median_wins) {
  FakeDevice device;
  // The second of three is the fastest but for one slow launch in three rounds; the third is fast at first only.
  device.clock.factor = [](int launch) {
    const int which = launch % 3, round = launch / 3;
    return which == 1 && round % 3 == 1 ? 20.0 : which == 2 && round < 2 ? 0.1 : 1.0;
  };
  BOOST_TEST(device.fastest(3, [&](size_t i) { device.run(i == 0 ? 5 : i == 1 ? 3 : 4); }) == 1u);
}

BOOST_AUTO_TEST_CASE(near_ties_go_to_the_first) {
  FakeDevice device;
  BOOST_TEST(device.fastest(3, [&](size_t i) { device.run(10 - 0.05 * static_cast<double>(i)); }) == 0u);
  BOOST_TEST(device.fastest(3, [&](size_t i) { device.run(10 - 2 * static_cast<double>(i)); }) == 2u);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_captured_is_not_chosen) {
  FakeDevice device;
  const auto run = [&](size_t i) {
    if (i != 1 && device.clock.captured >= 0) throw std::runtime_error("not while capturing");
    device.run(i == 1 ? 9 : 1);
  };
  BOOST_TEST(device.fastest(3, run) == 1u);
  const auto never = [](size_t) { throw std::runtime_error("never"); };
  BOOST_CHECK_THROW(device.fastest(2, never), std::runtime_error);
}

// The fault costs the whole device, and the library may tell no more than an error code of its own.
BOOST_AUTO_TEST_CASE(one_that_makes_the_device_fail_ends_the_trials_and_is_named) {
  for (const bool told : {false, true}) {
    FakeDevice device;
    std::vector<size_t> ran;
    const auto run = [&](size_t i) {
      ran.push_back(i);
      device.run(1);
      if (i != 1) return;
      device.clock.fault = kIllegalAddress;
      if (told) throw std::runtime_error("cudnnBackendExecute failed");
    };
    const auto names = says(
        told ? "cudnnBackendExecute failed\n  got:  cuStreamSynchronize failed: " : "cuStreamSynchronize failed: ",
        " (700)", "\n  in a trial of implementation 'pick 1' of a library 1.2: a call\n  hint: ", "compute-sanitizer");
    BOOST_CHECK_EXCEPTION(device.fastest(3, run), kb::InternalError, names);
    BOOST_TEST(ran.back() == 1u);
  }
}

BOOST_AUTO_TEST_CASE(one_that_makes_the_device_fail_in_a_replay_is_named) {
  FakeDevice device;
  device.clock.factor = [](int launch) {
    if (launch == 1) current->fault = kLaunchFailed;
    return 1.0;
  };
  BOOST_CHECK_EXCEPTION(device.fastest(3, [&](size_t) { device.run(1); }), kb::InternalError,
                        says(" (719)", "in a trial of implementation 'pick 1' of"));
}

BOOST_AUTO_TEST_CASE(a_fault_before_trials_is_no_implementations) {
  FakeDevice device;
  device.clock.fault = kLaunchFailed;
  BOOST_CHECK_EXCEPTION(device.fastest(3, [&](size_t) { BOOST_ERROR("run"); }), CallError,
                        says(" (719)", "hint: work that was enqueued earlier failed"));
}

BOOST_AUTO_TEST_CASE(broken_memory_is_told_as_such) {
  FakeDevice device;
  const auto run = [&](size_t) { device.clock.fault = 214; };
  BOOST_CHECK_EXCEPTION(device.fastest(3, run), CallError, says("(214)", "hint: the GPU's own memory", "nvidia-smi"));
}

BOOST_AUTO_TEST_CASE(a_single_implementation_is_not_run) {
  FakeDevice device;
  BOOST_TEST(device.fastest(1, [](size_t) { BOOST_ERROR("run"); }) == 0u);
}

// The first implementation is the faster one only if its operands are still in the cache from the run before.
BOOST_AUTO_TEST_CASE(runs_find_no_operand_in_the_cache) {
  for (const int64_t bytes : {256, 300 << 10, 1 << 20}) {
    FakeDevice device;
    const auto run = [&](size_t i, size_t copy) {
      const bool is_warm = std::exchange(device.clock.warm, static_cast<int64_t>(copy)) == static_cast<int64_t>(copy);
      device.run(i == 1 ? 5 : is_warm ? 1 : 10);
    };
    BOOST_TEST(device.fastest_on(bytes, 2, run) == 1u);
  }
}

// The cache is flushed before every timed launch, even in the first round, which does not count.
BOOST_AUTO_TEST_CASE(runs_of_small_operands_begin_with_a_flushed_cache) {
  FakeDevice device;
  device.clock.fills.clear();
  std::vector<size_t> copies;
  device.fastest_on(256, 2, [&](size_t i, size_t copy) {
    if (i == 0 && device.clock.captured >= 0) copies.push_back(copy);
    device.run(1);
  });
  BOOST_TEST(copies == (std::vector<size_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  BOOST_TEST(device.clock.fills.size() == 1u);
  BOOST_TEST(device.clock.fills.begin()->second == 2 << 20);
}

BOOST_AUTO_TEST_CASE(there_are_as_many_copies_as_the_cache_and_free_memory_make) {
  const auto copies = [](int64_t bytes, int64_t free, int64_t scratch = 0) {
    FakeDevice device;
    device.clock.free_memory = free;
    const std::array operands = {TrialOperand{bytes / 2, DType::bf16}, TrialOperand{bytes / 2, DType::f32}};
    const CallMemory memory(device.handles, operands, scratch);
    BOOST_TEST(device.clock.allocated <= std::max(free / 2, bytes + scratch));
    return memory.copies();
  };
  constexpr int64_t kMuch = int64_t{1} << 30;
  BOOST_TEST(copies(512, kMuch) == CallMemory::kRuns);
  BOOST_TEST(copies(512 << 10, kMuch) == 4u);
  BOOST_TEST(copies(1 << 20, kMuch) == 2u);
  BOOST_TEST(copies(3 << 20, kMuch) == 1u);
  BOOST_TEST(copies(512 << 10, 8 << 20) == 4u);
  BOOST_TEST(copies(512 << 10, 7 << 20) == 3u);
  BOOST_TEST(copies(512 << 10, 7 << 20, 512 << 10) == 2u);
  BOOST_TEST(copies(512 << 10, 100) == 1u);
}

BOOST_AUTO_TEST_CASE(trial_memory_is_aligned_and_holds_the_same_random_numbers_each_time) {
  FakeDevice device;
  const std::array operands = {TrialOperand{6, DType::bf16}, TrialOperand{0, DType::f32},
                               TrialOperand{900 << 10, DType::f16}, TrialOperand{4096, DType::f64}};
  const CallMemory memory(device.handles, operands, 300), again(device.handles, operands, 300);
  BOOST_TEST(memory.copies() > 1u);
  for (size_t copy = 0; copy < memory.copies(); ++copy)
    for (size_t i = 0; i < operands.size(); ++i) {
      const auto [bytes, dtype] = operands[i];
      const void* at = memory.operand(copy, i);
      BOOST_TEST(reinterpret_cast<size_t>(at) % 256 == 0u);
      BOOST_TEST(std::memcmp(at, again.operand(0, i), static_cast<size_t>(bytes)) == 0);
      double sum = 0, squares = 0;
      const int64_t count = bytes / kb::size_of(dtype);
      for (int64_t e = 0; e < count; ++e) {
        const double x = kb::load_element(dtype, at, e);
        BOOST_REQUIRE(std::abs(x) <= 0.5);
        sum += x, squares += x * x;
      }
      if (count < 100) continue;
      BOOST_TEST(std::abs(sum / static_cast<double>(count)) < 0.05);
      BOOST_TEST(std::abs(squares / static_cast<double>(count) - 1.0 / 12) < 0.02);
    }
  BOOST_TEST(reinterpret_cast<size_t>(memory.scratch()) % 256 == 0u);
  BOOST_TEST(static_cast<const char*>(memory.scratch())[299] == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::cuda::trials_test
