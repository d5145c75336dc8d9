// Tests that the fake GPU finds the faults that it is there to find.
#include "tests/runtime/cuda/fake_gpu.h"

#include <boost/test/unit_test.hpp>

#include "runtime/cuda/memory.h"
#include "tests/support/says.h"

namespace kb::fake_gpu_test {

using namespace kb::cuda;
using namespace kb::test;

namespace {

struct Fixture {
  FakeGpu gpu;
  std::unique_ptr<Driver> table = gpu.driver();
  Driver& driver = *table;
  Context context = nullptr;
  Stream a = nullptr, b = nullptr;
  Event event = nullptr;
  Address x = 0, y = 0;
  void* pinned = nullptr;

  Fixture() {
    driver(driver.init, 0u);
    driver(driver.context_retain, &context, 0);
    driver(driver.context_set_current, context);
    driver(driver.stream_create, &a, kStreamNonBlocking);
    driver(driver.stream_create, &b, kStreamNonBlocking);
    driver(driver.event_create, &event, kEventUntimed);
    driver(driver.memory_allocate, &x, size_t{64});
    driver(driver.memory_allocate, &y, size_t{64});
    driver(driver.host_allocate, &pinned, size_t{64}, 0u);
  }
  void fill(Address to, unsigned char value, Stream stream) {
    driver(driver.fill_bytes, to, value, size_t{64}, stream);
  }
  void copy(Address to, Address from, Stream stream) { driver(driver.copy_on_device, to, from, size_t{64}, stream); }
  Kernel kernel(std::vector<FakeKernel::Parameter> parameters) {
    const std::string image = gpu.add_image({{"k", std::move(parameters), [](auto&&...) {}}});
    Module module = nullptr;
    Kernel result = nullptr;
    driver(driver.module_load, &module, image.data());
    driver(driver.module_function, &result, module, "k");
    return result;
  }
  void launch(Kernel kernel, std::vector<void*> parameters) {
    driver(driver.launch, kernel, 1u, 1u, 1u, 32u, 1u, 1u, 0u, a, parameters.data(), static_cast<void**>(nullptr));
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(fake_gpu, Fixture)

BOOST_AUTO_TEST_CASE(work_runs_when_the_host_waits_for_it) {
  fill(x, 7, a);
  driver(driver.copy_to_host, pinned, x, size_t{64}, a);
  const auto* bytes = static_cast<const unsigned char*>(pinned);
  BOOST_TEST(bytes[63] != 7);
  driver(driver.stream_synchronize, a);
  BOOST_TEST(bytes[63] == 7);
}

BOOST_AUTO_TEST_CASE(two_streams_in_no_order) {
  fill(x, 1, a);
  BOOST_CHECK_EXCEPTION(copy(y, x, b), DriverFault,
                        says("a fill on s1 and a copy on the device on s2 touch the same memory in no order"));
}

BOOST_AUTO_TEST_CASE(a_write_after_a_read_in_no_order) {
  copy(y, x, a);
  BOOST_CHECK_EXCEPTION(fill(x, 1, b), DriverFault, says("in no order"));
}

BOOST_AUTO_TEST_CASE(two_readers_need_no_order) {
  Address z = 0;
  driver(driver.memory_allocate, &z, size_t{64});
  copy(y, x, a);
  BOOST_CHECK_NO_THROW(copy(z, x, b));
}

BOOST_AUTO_TEST_CASE(an_event_orders_streams) {
  fill(x, 3, a);
  driver(driver.event_record, event, a);
  driver(driver.stream_wait, b, event, 0u);
  copy(y, x, b);
  driver(driver.copy_to_host, pinned, y, size_t{64}, b);
  driver(driver.stream_synchronize, b);
  BOOST_TEST(static_cast<const unsigned char*>(pinned)[0] == 3);
}

// A wait orders only the work that was recorded before the wait was enqueued.
BOOST_AUTO_TEST_CASE(an_event_orders_what_came_before_its_record) {
  driver(driver.event_record, event, a);
  fill(x, 3, a);
  driver(driver.stream_wait, b, event, 0u);
  BOOST_CHECK_EXCEPTION(copy(y, x, b), DriverFault, says("in no order"));
}

BOOST_AUTO_TEST_CASE(the_host_orders_what_it_waited_for) {
  fill(x, 3, a);
  driver(driver.stream_synchronize, a);
  BOOST_CHECK_NO_THROW(copy(y, x, b));
}

BOOST_AUTO_TEST_CASE(memory_that_has_been_freed) {
  driver(driver.memory_free, x);
  BOOST_CHECK_EXCEPTION(fill(x, 1, a), DriverFault, says("memory that has been freed"));
}

BOOST_AUTO_TEST_CASE(memory_freed_twice) {
  driver(driver.memory_free, x);
  BOOST_CHECK_EXCEPTION(driver(driver.memory_free, x), DriverFault, says("freed twice"));
}

BOOST_AUTO_TEST_CASE(more_than_an_allocation_holds) {
  BOOST_CHECK_EXCEPTION(driver(driver.fill_bytes, x, static_cast<unsigned char>(0), size_t{65}, a), DriverFault,
                        says("1 bytes past the end of an allocation of 64"));
}

BOOST_AUTO_TEST_CASE(ordinary_memory_in_an_asynchronous_copy) {
  char bytes[64] = {};
  BOOST_CHECK_EXCEPTION(driver(driver.copy_to_device, x, bytes, size_t{64}, a), DriverFault,
                        says("neither device nor page-locked"));
}

BOOST_AUTO_TEST_CASE(memory_of_the_host_given_as_the_devices) {
  BOOST_CHECK_EXCEPTION(copy(x, address_of(pinned), a), DriverFault, says("memory of the host given as the device's"));
}

BOOST_AUTO_TEST_CASE(page_locked_memory_freed_in_use) {
  driver(driver.copy_to_device, x, pinned, size_t{64}, a);
  BOOST_CHECK_EXCEPTION(driver(driver.host_free, pinned), DriverFault, says("still in use by a copy to the device"));
}

BOOST_AUTO_TEST_CASE(a_launch_with_too_few_arguments) {
  BOOST_CHECK_EXCEPTION(launch(kernel({FakeKernel::read, FakeKernel::number}), {&x, nullptr}), DriverFault,
                        says("kernel k: 2 arguments, got 1"));
}

BOOST_AUTO_TEST_CASE(a_launch_with_too_many_arguments) {
  BOOST_CHECK_EXCEPTION(launch(kernel({FakeKernel::read}), {&x, &y, nullptr}), DriverFault,
                        says("1 arguments, got more"));
}

BOOST_AUTO_TEST_CASE(a_launch_with_a_null_operand) {
  Address none = 0;
  BOOST_CHECK_EXCEPTION(launch(kernel({FakeKernel::read}), {&none, nullptr}), DriverFault, says("operand 0 is null"));
}

BOOST_AUTO_TEST_CASE(a_launch_on_memory_of_the_host) {
  Address host = address_of(pinned);
  BOOST_CHECK_EXCEPTION(launch(kernel({FakeKernel::read}), {&host, nullptr}), DriverFault,
                        says("memory of the host given as the device's"));
}

BOOST_AUTO_TEST_CASE(a_captured_graph_runs_as_often_as_it_is_launched) {
  int runs = 0;
  driver(driver.capture_begin, a, CaptureMode::thread_local_);
  gpu.enqueue(a, "count", {}, {MemoryRange::of(reinterpret_cast<void*>(x), 64)}, [&] { ++runs; });
  Captured captured = nullptr;
  CapturedExec exec = nullptr;
  driver(driver.capture_end, a, &captured);
  driver(driver.graph_instantiate, &exec, captured, 0ull);
  driver(driver.graph_launch, exec, a);
  driver(driver.graph_launch, exec, a);
  BOOST_TEST(runs == 0);
  driver(driver.stream_synchronize, a);
  BOOST_TEST(runs == 2);
}

BOOST_AUTO_TEST_CASE(a_wait_of_the_host_spoils_a_capture) {
  driver(driver.capture_begin, a, CaptureMode::thread_local_);
  BOOST_CHECK_EXCEPTION(driver(driver.stream_synchronize, b), CallError, says("CAPTURE_UNSUPPORTED"));
  Captured captured = nullptr;
  BOOST_CHECK_EXCEPTION(driver(driver.capture_end, a, &captured), CallError, says("CAPTURE_INVALIDATED"));
}

BOOST_AUTO_TEST_CASE(a_call_without_a_context) {
  driver(driver.context_set_current, Context{nullptr});
  BOOST_CHECK_EXCEPTION(fill(x, 0, a), CallError, says("cuMemsetD8Async failed: CUDA_ERROR_INVALID_CONTEXT (201)"));
}

BOOST_AUTO_TEST_CASE(a_call_that_a_test_lets_fail) {
  gpu.fail("cuMemsetD8Async", 1, kOutOfMemory);
  fill(x, 0, a);
  BOOST_CHECK_EXCEPTION(fill(x, 0, a), CallError, says("CUDA_ERROR_OUT_OF_MEMORY"));
  BOOST_CHECK_NO_THROW(fill(x, 0, a));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::fake_gpu_test
