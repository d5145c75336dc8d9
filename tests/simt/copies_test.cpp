// Asynchronous copies and dynamic shared memory in the emulator: what they compute, and the faults that it finds.
#include <boost/test/unit_test.hpp>

#include "compiler/print/cuda.h"
#include "tests/simt/hand_kernels.h"
#include "tests/support/support.h"

namespace kb::copies_test {

using namespace kb::simt;
using simt::Program;

namespace {

using test::contains;

// Each of 64 threads copies 4 numbers, and reads those of a thread in the other warp.
const std::string kSingle = R"(extern "C" __global__ void single(const float* b0, float* b1, long long e0) {
  alignas(16) __shared__ float l0[256];
  const int t = threadIdx.x;
  copy_async(l0 + 4 * t, b0 + 4 * t, t < e0);
  copies_end();
  copies_wait<0>();
  __syncthreads();
  for (int i = 0; i < 4; ++i) b1[4 * t + i] = l0[(4 * t + 128 + i) % 256];
}
)";

const std::string kTwoGroups = R"(extern "C" __global__ void two_groups(const float* b0, float* b1, long long e0) {
  alignas(16) __shared__ float l0[512];
  const int t = threadIdx.x;
  for (int half = 0; half < 2; ++half) {
    copy_async(l0 + 256 * half + 4 * t, b0 + 4 * t, true);
    copies_end();
  }
  copies_wait<0>();
  b1[t] = l0[4 * t] + l0[256 + 4 * t];
}
)";

// One stage is copied while the threads of both warps read the other one, which those of the first warp copied.
const std::string kStages = R"(extern "C" __global__ void stages(const float* b0, float* b1, long long e0) {
  alignas(16) __shared__ float l0[512];
  const int t = threadIdx.x;
  float sum = 0;
  copy_async(l0 + 4 * t, b0 + 4 * t, true);
  copies_end();
  for (int i = 0; i < e0; ++i) {
    if (i + 1 < e0) copy_async(l0 + (i + 1) % 2 * 256 + 4 * t, b0 + 256 * (i + 1) + 4 * t, true);
    copies_end();
    copies_wait<1>();
    __syncthreads();  // the stage has arrived
    sum += l0[i % 2 * 256 + 4 * (t % 32) + t / 32];
    __syncthreads();  // the stage has been read
  }
  b1[t] = sum;
}
)";

const std::string kBytes = R"(extern "C" __global__ void bytes(const float* b0, float* b1, long long e0) {
  extern __shared__ __align__(16) unsigned char storage[];
  u16* const l0 = (u16*)(storage + 64);
  const int t = threadIdx.x;
  storage[t] = t;
  l0[t] = t;
  __syncthreads();
  b1[t] = storage[63 - t] + l0[63 - t];
}
)";

const std::string kEarly = R"(extern "C" __global__ void early(const float* b0, float* b1, long long e0) {
  alignas(16) __shared__ float l0[256];
  const int t = threadIdx.x;
  l0[4 * t] = -1;
  copy_async(l0 + 4 * t, b0 + 4 * t, true);
  copies_end();
  b1[t] = l0[4 * t];
  copies_wait<0>();
  b1[64 + t] = l0[4 * t];
}
)";

const std::string kDynamic = planted(kSingle, "dynamic", "alignas(16) __shared__ float l0[256];",
                                     "extern __shared__ __align__(16) unsigned char storage[];\n"
                                     "  float* const l0 = (float*)(storage + 0);");

// The address of the array, in 1 KB, and room for a flag before it.
const std::string kPlaces = R"(extern "C" __global__ void places(const float* b0, float* b1, long long e0) {
  extern __shared__ __align__(1024) unsigned char storage[];
  __shared__ bool flag;
  if (threadIdx.x == 0) flag = true;
  b1[threadIdx.x] = shared_address(storage) % 1024;
}
)";

std::vector<std::string> kernels() {
  return {kSingle,
          kPlaces,
          planted(kPlaces, "places_16", "__align__(1024)", "__align__(16)"),
          planted(kPlaces, "places_4096", "__align__(1024)", "__align__(4096)"),
          kTwoGroups,
          kStages,
          kBytes,
          kEarly,
          kDynamic,
          planted(kSingle, "onto_another", "copies_end();", "copy_async(l0 + 4 * t, b0, true); copies_end();"),
          planted(kSingle, "stored_into", "copies_end();", "copies_end(); __syncthreads(); if (t == 1) l0[12] = 1;"),
          planted(kSingle, "not_in_a_group", "copies_end();", ""),
          planted(kSingle, "ends_early", "copies_wait<0>();", "return;"),
          planted(kSingle, "source_askew", "b0 + 4 * t", "b0 + 4 * t + 1"),
          planted(kSingle, "destination_askew", "l0 + 4 * t", "l0 + 4 * t + 2"),
          planted(kSingle, "destination_past_its_end", "l0 + 4 * t", "l0 + 8 * t"),
          planted(kSingle, "to_global", "l0 + 4 * t,", "b1 + 4 * t,"),
          planted(kSingle, "from_shared", "b0 + 4 * t", "l0 + 4 * t"),
          planted(kSingle, "much", "l0[256]", "l0[12289]"),
          planted(kTwoGroups, "half_arrived", "copies_wait<0>();", "copies_wait<1>();"),
          planted(kStages, "no_wait", "copies_wait<1>();", ""),
          planted(kStages, "no_barrier_behind_the_wait", "__syncthreads();  // the stage has arrived", ""),
          planted(kStages, "no_barrier_behind_the_reads", "__syncthreads();  // the stage has been read", ""),
          planted(kBytes, "bytes_overlap", "storage + 64", "storage + 62"),
          planted(kDynamic, "dynamic_without_barrier", "__syncthreads();", "")};
}

const Program& watched() {
  static const Program program(cuda_prelude(), kernels(), Instrument::accesses);
  return program;
}

// Returns a launch of 64 threads on `elements` numbers 1, 2, 3 ...
HandLaunch numbers(size_t elements, long long argument, Order threads = Order::forward) {
  HandLaunch launch({{elements, 0}, {256, 0}}, {argument}, {1}, {64});
  for (size_t i = 0; i < elements; ++i) launch.buffers[0][i] = static_cast<float>(i + 1);
  launch.settings.threads = threads;
  return launch;
}

void expect_fault(const std::string& name, HandLaunch launch, const std::string& expected) {
  const std::string message = fault(watched(), name, launch);
  BOOST_TEST(contains(message, expected));
}

constexpr Order kOrders[] = {Order::forward, Order::reverse, Order::shuffled};

}  // namespace

BOOST_AUTO_TEST_SUITE(copies)

BOOST_AUTO_TEST_CASE(numbers_arrive_and_absent_ones_are_zeros) {
  for (const std::string name : {"single", "dynamic"})
    for (const Order order : kOrders) {
      HandLaunch launch = numbers(4 * 40, 40, order);
      launch.settings.dynamic_shared = name == "dynamic" ? 1024 : 0;
      launch.run(watched(), name);
      for (size_t i = 0; i < 256; ++i) {
        const size_t from = (i + 128) % 256;
        BOOST_TEST(launch.buffers[1][i] == (from < 160 ? static_cast<float>(from + 1) : 0.0f));
      }
    }
}

BOOST_AUTO_TEST_CASE(stages) {
  const Program program(cuda_prelude(), kernels());
  for (const Program* each : {&watched(), &program})
    for (const Order order : kOrders) {
      HandLaunch launch = numbers(5 * 256, 5, order);
      launch.run(*each, "stages");
      for (size_t t = 0; t < 64; ++t)
        BOOST_TEST(launch.buffers[1][t] == static_cast<float>(5 * (4 * (t % 32) + t / 32 + 1) + 256 * 10));
    }
}

BOOST_AUTO_TEST_CASE(numbers_arrive_at_the_wait) {
  const Program program(cuda_prelude(), {&kEarly, 1}, Instrument::none);
  HandLaunch launch = numbers(256, 0);
  launch.run(program, "early");
  for (size_t t = 0; t < 64; ++t) {
    BOOST_TEST(launch.buffers[1][t] == -1);
    BOOST_TEST(launch.buffers[1][64 + t] == static_cast<float>(4 * t + 1));
  }
  expect_fault("early", numbers(256, 0), "l0[0] is read by thread 0 of block 0 while a copy of thread 0 into it");
}

BOOST_AUTO_TEST_CASE(missing_waits) {
  const HandLaunch one = numbers(256, 64);
  expect_fault("no_wait", numbers(1280, 5), "l0[0] is read by thread 0 of block 0 while a copy of thread 0 into it");
  expect_fault("half_arrived", one,
               "l0[256] is read by thread 0 of block 0 while a copy of thread 0 into it is under way");
  expect_fault("not_in_a_group", one,
               "l0[128] is read by thread 0 of block 0 while a copy of thread 32 into it is under way");
  expect_fault("ends_early", one, "thread 0 of block 0 ends with copies under way: a wait is missing");
  expect_fault("onto_another", one, "l0[0] is written by thread 0 of block 0 while a copy of thread 0 into it");
  expect_fault("stored_into", one, "l0[12] is written by thread 1 of block 0 while a copy of thread 3 into it");
}

BOOST_AUTO_TEST_CASE(missing_barriers) {
  const HandLaunch forward = numbers(1280, 5), reverse = numbers(1280, 5, Order::reverse);
  expect_fault("no_barrier_behind_the_wait", forward,
               "l0[1] is read by thread 32 of block 0, and written by thread 0 of block 0: a race, no barrier");
  expect_fault("no_barrier_behind_the_wait", reverse, "l0[125] is read by thread 63 of block 0, but never written");
  expect_fault("no_barrier_behind_the_reads", reverse,
               "l0[125] is written by thread 31 of block 0, and read by thread 63 of block 0: a race, no barrier");
  expect_fault("no_barrier_behind_the_reads", forward,
               "l0[1] is read by thread 32 of block 0 while a copy of thread 0 into it is under way");
}

BOOST_AUTO_TEST_CASE(wrong_addresses) {
  const HandLaunch one = numbers(260, 64);
  expect_fault("source_askew", one, "b0[1] is accessed by 16 bytes at once, but lies 4 bytes past a multiple of 16");
  expect_fault("source_askew", numbers(260, 0), "the source of a copy of thread 0 of block 0 lies 4 bytes past");
  expect_fault("destination_askew", one, "l0[2] is accessed by 16 bytes at once, but lies 8 bytes past");
  expect_fault("destination_past_its_end", one, "l0[256] of 256 elements is written out of bounds");
  expect_fault("to_global", one, "b1[0] is written by a copy of thread 0 of block 0, but is not in shared memory");
  expect_fault("from_shared", one, "l0[0] is read by a copy of thread 0 of block 0, but is in shared memory");
  expect_fault("single", numbers(158, 40), "b0[156] of 158 elements is read out of bounds (16 bytes, thread 39");
  HandLaunch undefined = numbers(256, 64);
  undefined.defined = false;
  expect_fault("single", undefined, "b0[0] is read by thread 0 of block 0, but never written");
}

BOOST_AUTO_TEST_CASE(shared_memory) {
  const auto with_dynamic = [](int64_t bytes) {
    HandLaunch launch = numbers(256, 64);
    launch.settings.dynamic_shared = bytes;
    return launch;
  };
  expect_fault("dynamic", with_dynamic(0), "storage[0] of 0 elements is written out of bounds");
  expect_fault("dynamic", with_dynamic(1008), "storage[1008] of 1008 elements is written out of bounds (16 bytes");
  expect_fault("dynamic", with_dynamic(232449), "232449 bytes of dynamic shared memory, a block has 232448");
  expect_fault("dynamic_without_barrier", with_dynamic(1024), "storage[512] is read by thread 0 of block 0, but never");
  expect_fault("single", with_dynamic(232448), "1024 bytes of shared memory before the dynamic array and 232448 in it");
  expect_fault("much", with_dynamic(0), "49156 bytes of static shared memory, a block has 49152");
  expect_fault("places", with_dynamic(232448 - 1023), "1024 bytes of shared memory before the dynamic array");
  expect_fault("places_4096", with_dynamic(8), "storage is aligned to 4096 bytes");
  HandLaunch places = with_dynamic(232448 - 1024), places_16 = with_dynamic(232448 - 16);
  places.run(watched(), "places");
  places_16.run(watched(), "places_16");
  BOOST_TEST(places.buffers[1][0] == 0);
  BOOST_TEST(places_16.buffers[1][0] == 16);
  HandLaunch bytes = with_dynamic(192);
  bytes.run(watched(), "bytes");
  BOOST_TEST(bytes.buffers[1][1] == 124);
  expect_fault("bytes_overlap", with_dynamic(192),
               "storage[62] is written by thread 62 of block 0, and written by thread 0 of block 0: a race");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::copies_test
