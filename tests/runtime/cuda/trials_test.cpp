#include "runtime/cuda/trials.h"

#include <boost/test/unit_test.hpp>
#include <cstdlib>

#include "graph/error.h"
#include "tests/says.h"

using namespace kb::cuda;
using kb::test::says;

namespace {

// A device on which time passes only in runs, at once or out of a graph: events note the clock.
struct Clock {
  double now = 0;        // milliseconds
  double captured = -1;  // of the graph being captured; -1: none
  std::vector<double> graphs;
  int launches = 0, live_graphs = 0;
  double (*factor)(int launch) = [](int) { return 1.0; };
  std::vector<double> events;
  int64_t allocated = 0;
  int live_events = 0;
  Result fault = kSuccess;  // of all work from now on, told by who waits
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
    driver.memory_allocate.function = [](Address* memory, size_t bytes) {
      current->allocated += static_cast<int64_t>(bytes);
      *memory = reinterpret_cast<Address>(std::aligned_alloc(256, bytes));
      return kSuccess;
    };
    driver.memory_free.function = [](Address memory) {
      std::free(reinterpret_cast<void*>(memory));
      return kSuccess;
    };
    driver.fill_bytes.function = [](Address memory, unsigned char value, size_t bytes, Stream) {
      std::fill_n(reinterpret_cast<unsigned char*>(memory), bytes, value);
      return kSuccess;
    };
  }
  ~FakeDevice() {
    BOOST_TEST(clock.live_events == 0);
    BOOST_TEST(clock.live_graphs == 0);
    current = nullptr;
  }

  // Work of so many milliseconds.
  void run(double time) { (clock.captured < 0 ? clock.now : clock.captured) += time; }
  size_t fastest(size_t count, const std::function<void(size_t)>& enqueue) {
    return kb::cuda::fastest(
        handles, {"a library 1.2", "a call", count, [](size_t i) { return "pick " + std::to_string(i); }, enqueue});
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

// The device is lost with it, and the library tells but its own code.
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
  BOOST_CHECK_EXCEPTION(device.fastest(3, [&](size_t) { BOOST_ERROR("run"); }), kb::InternalError,
                        says(" (719)", "in what ran before trials of"));
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

BOOST_AUTO_TEST_CASE(trial_memory_is_aligned_and_finite) {
  FakeDevice device;
  const int64_t bytes[] = {3, 0, 300, 64};
  const TrialMemory memory(device.handles, bytes);
  for (size_t i = 0; i < 4; ++i) BOOST_TEST(reinterpret_cast<size_t>(memory[i]) % 256 == 0u);
  BOOST_TEST((static_cast<char*>(memory[3]) - static_cast<char*>(memory[2])) == 512);
  BOOST_TEST(static_cast<float*>(memory[2])[74] > 0.01f);
  BOOST_TEST(static_cast<float*>(memory[2])[74] < 0.02f);
}

BOOST_AUTO_TEST_SUITE_END()
