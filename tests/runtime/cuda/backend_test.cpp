// Tests the CUDA backend on a fake GPU: the calls of a step, planted faults, and errors. The results of steps are
// compared by tests/gpu/checks.
#include "runtime/cuda/backend.h"

#include <fcntl.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <fstream>
#include <functional>
#include <numeric>
#include <sstream>
#include <thread>

#include "recipes/perf/copy_bandwidth.h"
#include "tests/gpu/checks/net_session.h"
#include "tests/runtime/cuda/fake_backend.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::backend_test {

using namespace kb::test;

namespace {

struct OnFake {
  explicit OnFake(const CudaOptions& options = {}) : backend(test_gpu.backend(options)), net(*backend) {}

  std::vector<std::string> log_of_step(uint32_t i) {
    gpu.log.clear();
    net.step(i);
    return std::move(gpu.log);
  }
  // Returns the name of one of the training step's kernels.
  const std::string& kernel() const { return net.session.compiled().program.at(PartRole::final).kernels.at(1).name; }

  FakeTestGpu test_gpu;
  FakeGpu& gpu = test_gpu.gpu;
  std::unique_ptr<Backend> backend;
  NetSession net;
};

struct OnFakeInSteps : OnFake {
  OnFakeInSteps() : OnFake({.sync_steps = true, .cache_directory = ""}) {}
};

int64_t count(const std::vector<std::string>& log, const std::string& what) {
  return std::count_if(log.begin(), log.end(), [&](const std::string& line) { return line.starts_with(what); });
}

// Returns all that `work` prints to the standard error.
std::string standard_error_of(const std::function<void()>& work) {
  const TemporaryDirectory folder;
  const std::string path = folder / "printed";
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT, 0600), saved = ::dup(STDERR_FILENO);
  ::dup2(file, STDERR_FILENO);
  work();
  ::dup2(saved, STDERR_FILENO);
  for (const int descriptor : {file, saved}) ::close(descriptor);
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_backend)

BOOST_FIXTURE_TEST_CASE(a_step_is_one_graph_and_copies_beside_it, OnFake) {
  const std::vector<std::string> first = log_of_step(0);
  BOOST_TEST(count(first, "cuLaunchKernel") > 5);
  BOOST_TEST(count(first, "cuStreamSynchronize") > 5);  // the first run waits after every step
  for (uint32_t i : {1u, 2u}) {
    const std::vector<std::string> log = log_of_step(i);
    BOOST_TEST(count(log, "cuStreamBeginCapture") == 1);
    BOOST_TEST(count(log, "cuGraphInstantiate") == 1);
    BOOST_TEST(count(log, "cuStreamSynchronize") == 0);
  }
  // Stream s1 computes and s2 copies. Each of the two slots has a graph and two events, which are made one after the
  // other: the first is recorded when the slot's inputs were copied, the second when it was computed.
  std::string copied_of_slot[2], launch_of_slot[2];
  for (uint32_t i : {3u, 4u, 5u, 6u}) {
    const std::vector<std::string> log = log_of_step(i);
    BOOST_REQUIRE(log.size() == 7u);
    BOOST_REQUIRE(log[0].starts_with("cuEventSynchronize e"));
    const int number = std::stoi(log[0].substr(log[0].rfind('e') + 1));
    const std::string copied = "e" + std::to_string(number), computed = "e" + std::to_string(number + 1);
    BOOST_TEST(log[1] == "cuStreamWaitEvent s2 " + computed);
    BOOST_TEST(log[2].starts_with("cuMemcpyHtoDAsync_v2 "));
    BOOST_TEST(log[2].ends_with(" s2"));
    BOOST_TEST(log[3] == "cuEventRecord " + copied + " s2");
    BOOST_TEST(log[4] == "cuStreamWaitEvent s1 " + copied);
    BOOST_TEST(log[5].starts_with("cuGraphLaunch "));
    BOOST_TEST(log[5].ends_with(" s1"));
    BOOST_TEST(log[6] == "cuEventRecord " + computed + " s1");
    if (i > 4) BOOST_TEST(copied == copied_of_slot[i % 2]);
    if (i > 4) BOOST_TEST(log[5] == launch_of_slot[i % 2]);
    copied_of_slot[i % 2] = copied;
    launch_of_slot[i % 2] = log[5];
  }
  BOOST_TEST(copied_of_slot[0] != copied_of_slot[1]);
  BOOST_TEST(launch_of_slot[0] != launch_of_slot[1]);
}

// A host that only takes steps runs ahead of the device. Reading the loss of the step before the last waits for that
// step alone.
BOOST_FIXTURE_TEST_CASE(reading_late_waits_for_no_more_than_it_needs, OnFake) {
  for (uint32_t i = 0; i < 4; ++i) net.step(i);
  net.session.read_scalar("loss", 1);
  const int64_t before = gpu.operations();
  net.session.read_scalar("loss", 1);
  BOOST_TEST(gpu.operations() == before);
  net.session.read_scalar("loss", 0);
  BOOST_TEST(gpu.operations() > before);
}

BOOST_AUTO_TEST_CASE(a_program_of_another_thread_runs_here_and_ends_there) {
  FakeTestGpu gpu;
  std::unique_ptr<Backend> backend = gpu.backend();
  std::unique_ptr<NetSession> net;
  std::thread([&] { net = std::make_unique<NetSession>(*backend); }).join();
  for (const uint32_t i : {1u, 2u}) net->step(i);
  BOOST_TEST(net->session.read_scalar("loss") > 0);
  std::thread([&] { net.reset(); }).join();
  backend.reset();
  BOOST_TEST(gpu.gpu.live_handles() == 0);
}

BOOST_AUTO_TEST_CASE(a_backend_ends_on_another_thread) {
  FakeTestGpu gpu;
  std::unique_ptr<Backend> backend = gpu.backend();
  std::unique_ptr<DeviceMemory> memory = backend->allocate(64);
  std::thread([&] { memory.reset(); }).join();
  std::thread([&] { backend.reset(); }).join();
  BOOST_TEST(gpu.gpu.live_allocations() == 0);
  BOOST_TEST(count(gpu.gpu.log, "a library ends") == 1);
  BOOST_TEST(count(gpu.gpu.log, "a library ends without a context") == 0);
}

// Memory of the host that the device does not know is copied in pieces of 8 MiB, on any thread.
BOOST_AUTO_TEST_CASE(a_large_block_is_copied_in_pieces) {
  FakeTestGpu gpu;
  const std::unique_ptr<Backend> backend = gpu.backend();
  std::vector<uint32_t> numbers((8 << 18) + 25), back(numbers.size());
  std::iota(numbers.begin(), numbers.end(), 1u);
  const int64_t bytes = std::ssize(numbers) * 4;
  const std::unique_ptr<DeviceMemory> memory = backend->allocate(bytes);
  const auto on_another_thread = [](const auto& work) { std::thread(work).join(); };
  on_another_thread([&] { backend->upload(memory->data(), reinterpret_cast<std::byte*>(numbers.data()), bytes); });
  on_another_thread([&] { backend->download(reinterpret_cast<std::byte*>(back.data()), memory->data(), bytes); });
  BOOST_TEST((back == numbers));
}

BOOST_AUTO_TEST_CASE(everything_is_freed) {
  FakeTestGpu gpu;
  {
    const std::unique_ptr<Backend> backend = gpu.backend();
    train(*backend, 3);
    BOOST_TEST(gpu.gpu.live_allocations() == 1);  // the block that transfers go through
  }
  BOOST_TEST(gpu.gpu.live_allocations() == 0);
  BOOST_TEST(gpu.gpu.live_handles() == 0);
}

// ---- planted faults ----

// One block is lent for every step, although two steps are under way, so that the host fills it before it was copied.
BOOST_AUTO_TEST_CASE(lent_memory_that_is_filled_too_early_is_noticed) {
  const std::vector<double> expected = losses_of_lent(*small_cpu(), 1);
  FakeTestGpu gpu;
  const std::vector<double> got = losses_of_lent(*gpu.backend(), 1);
  double worst = 0;
  for (size_t i = 0; i < got.size(); ++i) worst = std::max(worst, std::abs(got[i] - expected[i]));
  BOOST_TEST(worst > 1e-3);
}

// Without its waits, the host fills memory that is still being copied.
BOOST_FIXTURE_TEST_CASE(a_host_that_does_not_wait_is_noticed, OnFake) {
  const Trained expected = train(*small_cpu(), 5);
  gpu.skip("cuEventSynchronize");
  const Trained got = train(net, 0, 5);
  double difference = 0;
  for (size_t i = 0; i < got.losses.size(); ++i)
    difference = std::max(difference, std::abs(got.losses[i] - expected.losses[i]));
  BOOST_TEST(difference > 1e-2);
}

BOOST_FIXTURE_TEST_CASE(streams_that_do_not_wait_for_each_other_are_noticed, OnFake) {
  gpu.skip("cuStreamWaitEvent");
  BOOST_CHECK_EXCEPTION(train(net, 0, 5), DriverFault, says("touch the same memory in no order"));
}

// ---- errors ----

BOOST_FIXTURE_TEST_CASE(a_kernel_that_fails_at_first_is_named_with_the_users_line, OnFake) {
  gpu.poison(kernel());
  BOOST_CHECK_EXCEPTION(net.step(0), InternalError,
                        says("cuStreamSynchronize failed: CUDA_ERROR_LAUNCH_FAILED (719)", "\n  in step ",
                             " of final: ", "compile_check.cpp:"));
}

// A replayed step that fails tells no more than that it failed, so a hint says how to find out more.
BOOST_FIXTURE_TEST_CASE(a_kernel_that_fails_in_a_replay_leads_to_sync_steps, OnFake) {
  train(net, 0, 4);
  gpu.poison(kernel());
  net.step(4);
  const auto hints = says("cuEventSynchronize failed: CUDA_ERROR_LAUNCH_FAILED (719)", "\n  hint: ", "--sync-steps");
  BOOST_CHECK_EXCEPTION(net.session.read_scalar("loss"), cuda::CallError, hints);
}

BOOST_FIXTURE_TEST_CASE(with_sync_steps_a_kernel_that_fails_later_is_named, OnFakeInSteps) {
  train(net, 0, 4);
  gpu.poison(kernel());
  BOOST_CHECK_EXCEPTION(net.step(4), InternalError, [](const InternalError& error) {
    return says("cuStreamSynchronize failed: CUDA_ERROR_LAUNCH_FAILED (719)", "\n  in step ",
                " of final: ", "compile_check.cpp:")(error) &&
           std::string(error.what()).find("--sync-steps") == std::string::npos;
  });
}

// Nothing waits between the parts of a profiled step, so the call that reports a fault may belong to a later part.
BOOST_FIXTURE_TEST_CASE(a_fault_in_a_profiled_step_is_not_blamed_on_the_step_that_tells, OnFake) {
  train(net, 0, 4);
  net.fill(4);
  gpu.lose("cuLaunchKernel", 3, cuda::kIllegalAddress);
  BOOST_CHECK_EXCEPTION(net.session.profile(), cuda::CallError, [](const cuda::CallError& error) {
    return says("cuLaunchKernel failed: CUDA_ERROR_ILLEGAL_ADDRESS (700)", "--sync-steps")(error) &&
           std::string(error.what()).find("in step") == std::string::npos;
  });
}

BOOST_AUTO_TEST_CASE(a_driver_that_is_older_than_the_compiler_is_told) {
  FakeTestGpu gpu;
  const std::unique_ptr<Backend> backend = gpu.backend();
  for (const auto& [result, number] :
       {std::pair{cuda::kInvalidImage, "(200)"}, {cuda::kNoBinaryForGpu, "(209)"}, {cuda::kUnsupportedPtx, "(222)"}}) {
    gpu.gpu.fail("cuModuleLoadData", 0, result);
    BOOST_CHECK_EXCEPTION(
        NetSession{*backend}, Error,
        says("the driver does not load what emulated kernels compiled\n  got:    cuModuleLoadData failed: ", number,
             "driver: CUDA 13.0\n", "update the driver"));
  }
}

// No context can be had of a device that another process has for itself. The error is one of the user's, so that
// `--device auto` takes CPUs, and the other processes of a run are told.
BOOST_AUTO_TEST_CASE(a_device_that_cannot_be_opened_is_an_error) {
  FakeTestGpu gpu;
  gpu.gpu.fail("cuDevicePrimaryCtxRetain", 0, cuda::kOutOfMemory);
  BOOST_CHECK_EXCEPTION(gpu.backend(), Error, says("cuDevicePrimaryCtxRetain failed: CUDA_ERROR_OUT_OF_MEMORY (2)"));
}

BOOST_AUTO_TEST_CASE(a_device_that_is_too_old_says_so) {
  FakeTestGpu gpu({.capability = 75});
  BOOST_CHECK_EXCEPTION(gpu.backend(), Error,
                        says("no GPU can be used\n  expected: compute capability 8.0 or higher\n  got:      7.5 of "
                             "device 0, fake GPU\n  hint:     --device cpu"));
}

BOOST_AUTO_TEST_CASE(a_device_that_is_just_new_enough_is_opened) {
  FakeTestGpu gpu({.capability = 80});
  BOOST_TEST(gpu.backend()->target().isa == "sm_80");
}

BOOST_AUTO_TEST_CASE(a_device_that_is_full_says_so) {
  FakeTestGpu gpu({.memory = 16 << 20});
  BOOST_CHECK_EXCEPTION(gpu.backend()->allocate(32 << 20), Error,
                        says("out of memory on the device: 33554432 bytes were asked for\n", "a smaller --minibatch"));
}

// ---- captures that are refused ----

// A capture fails, for instance if a library allocates in a later run than its first. Each slot has a capture of its
// own, and is captured again in its next step.
BOOST_FIXTURE_TEST_CASE(a_step_that_cannot_be_captured_runs_all_the_same, OnFake) {
  const Trained expected = train(*small_cpu(), 8);
  std::vector<int64_t> captures, graphs;
  for (uint32_t i = 0; i < 8; ++i) {
    if (i == 1) gpu.fail("cuLaunchKernel", 3, cuda::kCaptureUnsupported);
    if (i == 2) gpu.fail("cuStreamEndCapture", 0, cuda::kCaptureInvalidated);
    if (i == 3) gpu.fail("cuGraphInstantiateWithFlags", 0, cuda::kOutOfMemory);
    const std::vector<std::string> log = log_of_step(i);
    captures.push_back(count(log, "cuStreamBeginCapture"));
    graphs.push_back(count(log, "cuGraphLaunch"));
    BOOST_TEST(std::abs(net.session.read_scalar("loss") - expected.losses[i]) < 1e-4);
  }
  BOOST_TEST(captures == (std::vector<int64_t>{0, 1, 1, 1, 1, 1, 0, 0}));
  BOOST_TEST(graphs == (std::vector<int64_t>{0, 0, 0, 0, 1, 1, 1, 1}));
}

BOOST_FIXTURE_TEST_CASE(a_step_that_can_never_be_captured_is_told_once_and_goes_on, OnFake) {
  const Trained expected = train(*small_cpu(), 8);
  gpu.fail_in_captures("cuLaunchKernel");
  std::vector<int64_t> captures;
  const std::string printed = standard_error_of([&] {
    for (uint32_t i = 0; i < 8; ++i) {
      captures.push_back(count(log_of_step(i), "cuStreamBeginCapture"));
      BOOST_TEST(std::abs(net.session.read_scalar("loss") - expected.losses[i]) < 1e-4);
    }
  });
  BOOST_TEST(captures == (std::vector<int64_t>{0, 1, 1, 1, 1, 0, 0, 0}));
  const std::string note = "kilobatch: a step cannot be captured as a CUDA graph";
  BOOST_TEST(printed.starts_with(note));
  BOOST_TEST(printed.find(note, 1) == std::string::npos);
  BOOST_TEST(contains(printed, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED (900)"));
  BOOST_TEST(contains(printed, "\n  in step "));
}

// Work that ran uncaptured in its place would fail with the same error, and be blamed for it.
BOOST_FIXTURE_TEST_CASE(a_lost_device_ends_a_capture_for_good, OnFake) {
  net.step(0);
  net.fill(1);
  gpu.log.clear();
  gpu.lose("cuLaunchKernel", 3, cuda::kIllegalAddress);
  BOOST_CHECK_EXCEPTION(net.session.step(), cuda::CallError,
                        says("CUDA_ERROR_ILLEGAL_ADDRESS (700)", "\n  hint: work that was enqueued earlier failed"));
  BOOST_TEST(count(gpu.log, "cuLaunchKernel") == 4);
}

BOOST_AUTO_TEST_CASE(without_a_device_it_says_what_is_missing) {
  FakeTestGpu gpu({.devices = 0});
  BOOST_CHECK_EXCEPTION(gpu.backend(), Error, says("missing: a device\n  got:     cuInit failed: "));
}

BOOST_AUTO_TEST_CASE(the_device_of_the_number_is_opened) {
  FakeTestGpu gpu({.devices = 2});
  gpu.backend({.device = 1, .cache_directory = ""});
  BOOST_TEST(count(gpu.gpu.log, "cuDevicePrimaryCtxRetain 1") == 1);
  BOOST_TEST(count(gpu.gpu.log, "cuDevicePrimaryCtxRelease_v2 1") == 1);
  BOOST_CHECK_EXCEPTION(gpu.backend({.device = 2, .cache_directory = ""}), Error,
                        says("got:     2 devices, of which number 2 was asked for\n"));
}

// The copy is so large that it reads nothing which the cache still holds from the copy before.
BOOST_AUTO_TEST_CASE(a_copy_is_timed_on_much_of_what_is_free) {
  const auto bytes = [](int64_t memory, int64_t taken) {
    FakeTestGpu gpu({.memory = memory});
    const std::unique_ptr<Backend> backend = gpu.backend();
    const auto other = backend->allocate(taken);
    BOOST_TEST(gpu.backend()->memory_bytes() == memory);  // all of it, whoever has some
    return device_copy_bytes(*backend);
  };
  BOOST_TEST(bytes(int64_t{80} << 30, 1 << 20) == 1 << 30);
  BOOST_TEST(bytes(1 << 30, 512 << 20) == 128 << 20);
}

// Reductions are cut into as many blocks as a device of so many multiprocessors runs at once.
BOOST_AUTO_TEST_CASE(programs_are_made_for_the_devices_size) {
  for (const int processors : {108, 114}) {
    FakeTestGpu gpu({.processors = processors});
    const std::unique_ptr<Backend> backend = gpu.backend();
    BOOST_TEST(backend->target().processors == processors);
    BOOST_TEST(backend->target().max_partials == 3 * processors);
  }
}

BOOST_AUTO_TEST_CASE(it_says_what_it_is) {
  FakeTestGpu gpu;
  const std::string text = gpu.backend()->description();
  BOOST_TEST(text.starts_with("cuda: fake GPU, sm_90, 132 multiprocessors, 1 GiB, driver 13.0, emulated kernels, "));
  const CudaOptions fast{.deterministic = false, .cache_directory = ""};
  BOOST_TEST(gpu.backend(fast)->description() == text + ", not deterministic");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::backend_test
