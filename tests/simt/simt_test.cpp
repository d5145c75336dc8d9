// Tests of the emulator itself: what runs, and what it refuses.
#include "tests/simt/simt.h"

#include <boost/test/unit_test.hpp>

#include "tests/simt/hand_kernels.h"
#include "tests/support/support.h"

namespace kb::simt_test {

using namespace kb::simt;
using simt::Program;

namespace {

using test::contains;

const Program& watched() {
  static const Program program("", hand_kernels(), Instrument::accesses);
  return program;
}

const Program& of_the_build() {
  static const Program program("", hand_kernels());
  return program;
}

constexpr Order kOrders[] = {Order::forward, Order::reverse, Order::shuffled};

}  // namespace

BOOST_AUTO_TEST_SUITE(emulator)

BOOST_AUTO_TEST_CASE(a_pointwise_kernel) {
  for (const Program* program : {&watched(), &of_the_build()})
    for (const Order order : kOrders) {
      HandLaunch launch({{1001, 2.5f}, {1001, 0}}, {1001}, {2}, {256});
      launch.settings.threads = launch.settings.blocks = order;
      launch.run(*program, "twice");
      BOOST_TEST(launch.buffers[1] == std::vector<float>(1001, 5.0f));
    }
}

BOOST_AUTO_TEST_CASE(a_block_reduction_finished_by_the_last_block) {
  for (const Program* program : {&watched(), &of_the_build()})
    for (const Order order : kOrders) {
      HandLaunch launch = block_sums();
      launch.settings.threads = launch.settings.blocks = order;
      launch.run(*program, "block_sum");
      BOOST_TEST(launch.buffers[3][0] == 5 * 256 * 3.0f);
      BOOST_TEST(launch.buffers[2][0] == 0);
    }
}

BOOST_AUTO_TEST_CASE(warps) {
  for (const Program* program : {&watched(), &of_the_build()}) {
    HandLaunch launch({{64, 0}}, {}, {1}, {64});
    launch.run(*program, "warps");
    for (int i = 0; i < 64; ++i) {
      const int lane = i % 32;
      BOOST_TEST(launch.buffers[0][static_cast<size_t>(i)] == 496 + 32 * (i - lane) + (lane == 31 ? i : i + 1) + 0.5f);
    }
  }
}

// The barriers of a sum are removed one by one.
BOOST_AUTO_TEST_CASE(every_missing_barrier_is_found) {
  const std::string whole = hand_kernel("block_sum");
  const std::string barrier = "__syncthreads();";
  std::vector<std::string> texts;
  for (size_t at = whole.find(barrier); at != std::string::npos; at = whole.find(barrier, at + 1)) {
    std::string text = whole;
    text.replace(at, barrier.size(), "");
    text.replace(text.find("block_sum"), 9, "without_" + std::to_string(texts.size()));
    texts.push_back(text);
  }
  BOOST_TEST(texts.size() == 4u);
  const Program program("", texts, Instrument::accesses);
  for (size_t i = 0; i < texts.size(); ++i)
    for (const Order order : kOrders) {
      HandLaunch launch = block_sums();
      launch.settings.threads = order;
      const std::string message = fault(program, "without_" + std::to_string(i), launch);
      const bool found = contains(message, "a race, no barrier") || contains(message, "but never written");
      BOOST_TEST(found, i << ": " << message);
    }
}

// The fence before the atomic and the fence after it are removed.
BOOST_AUTO_TEST_CASE(every_missing_fence_is_found) {
  const std::string fence = "__threadfence();";
  const std::string whole = hand_kernel("block_sum");
  for (const size_t at : {whole.find(fence), whole.rfind(fence)}) {
    std::string text = whole;
    text.replace(at, fence.size(), "");
    const Program program("", {&text, 1}, Instrument::accesses);
    HandLaunch launch = block_sums();
    const std::string message = fault(program, "block_sum", launch);
    BOOST_TEST(contains(message, "b1[0] is read by thread 1 of block 4, and written by thread 255 of block 0"));
    BOOST_TEST(contains(message, "no barrier, fence and atomic in turn"));
  }
}

BOOST_AUTO_TEST_CASE(bounds) {
  const auto message = [](int64_t have, int64_t count) {
    HandLaunch launch({{1001, 2.5f}, {static_cast<size_t>(have), 0}}, {count}, {2}, {256});
    return fault(watched(), "twice", launch);
  };
  BOOST_TEST(message(1001, 1001) == "");
  BOOST_TEST(contains(message(1000, 1001), "b1[1000] of 1000 elements is written out of bounds"));
  BOOST_TEST(contains(message(1001, 1002), "b0[1001] of 1001 elements is read out of bounds"));
}

BOOST_AUTO_TEST_CASE(what_a_launch_is_refused_for) {
  HandLaunch many({{1, 0}, {1, 0}}, {1}, {1}, {512});
  BOOST_TEST(contains(fault(watched(), "twice", many), "a block of 512 threads, its launch bounds are 256"));
  HandLaunch few({{1, 0}}, {1}, {1}, {256});
  BOOST_TEST(contains(fault(watched(), "twice", few), "2 parameters, the kernel has 3"));
  BOOST_TEST(contains(fault(watched(), "nothing", few), "there is no such kernel"));
}

BOOST_AUTO_TEST_CASE(other_faults) {
  const auto check = [](const std::string& name, std::vector<HandBuffer> buffers, const std::string& expected) {
    HandLaunch launch(std::move(buffers), {}, {2}, {64});
    const std::string message = fault(watched(), name, launch);
    BOOST_TEST(contains(message, expected));
  };
  check("misaligned", {{16, 1}, {16, 1}}, "b0[1] is accessed by 16 bytes at once, but lies 4 bytes past");
  check("shared_never_written", {{64, 1}}, "l0[0] is read by thread 0 of block 0, but never written");
  check("shared_past_its_end", {{64, 1}}, "l0[64] of 64 elements is written out of bounds");
  check("blocks_meet", {{64, 1}},
        "b0[0] is written by thread 0 of block 1, and written by thread 0 of block 0: a race");
  check("constant_written", {{64, 1}, {64, 1}}, "");
  check("divergent_barriers", {{64, 1}}, "waits at the barrier in line");
  check("ends_before_the_barrier", {{64, 1}}, "but thread 32 has ended");
  check("half_a_warp", {{64, 1}}, "for lanes 0xffffffff of its warp, but thread 16 has ended");
  HandLaunch in_place({{64, 1}}, {}, {1}, {64});
  in_place.same_memory = true;
  BOOST_TEST(contains(fault(watched(), "constant_written", in_place), "but read as a constant in this launch"));
  HandLaunch undefined({{1001, 1}, {1001, 0}}, {1001}, {2}, {256});
  undefined.defined = false;
  BOOST_TEST(contains(fault(watched(), "twice", undefined), "b0[0] is read by thread 0 of block 0, but never written"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::simt_test
