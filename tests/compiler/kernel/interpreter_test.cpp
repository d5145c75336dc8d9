// Tests which kernels the KernelIR interpreter refuses, and runs kernels of thread blocks, which need a GPU elsewhere.
#include "tests/interpreters/kernel_interpreter.h"

#include <boost/test/unit_test.hpp>

#include "graph/error.h"
#include "tests/compiler/compiled_kernels.h"
#include "tests/compiler/sample_kernels.h"
#include "tests/interpreters/verify_kernel.h"

namespace kb::kernel_interpreter_test {
namespace {

using namespace kb::test;

// Returns the message of the fault, which is empty if there is none.
std::string fault(const Kernel& kernel, Launch launch) {
  ir::verify(kernel);
  try {
    interpret(kernel, launch);
  } catch (const InternalError& error) {
    return error.what();
  }
  return "";
}

// Returns a kernel that sums up x, with 8 * threads elements per tile. Each thread adds up 8 elements of its own, a
// tree over block storage adds up the threads' sums, and the last block adds up the sums of all tiles. `barriers`:
// there is a barrier after the threads' own sums and after each round of the tree, as there must be.
Kernel block_sum(int64_t threads, bool barriers) {
  Builder b("full_reduce", 4, threads);
  const int32_t x = b.add_buffer({.dtype = DType::f32});
  const int32_t partial = b.add_buffer({.dtype = DType::f32, .written = true, .scratch = true});
  const int32_t counter = b.add_buffer({.dtype = DType::u32, .written = true, .scratch = true});
  const int32_t out = b.add_buffer({.dtype = DType::f32, .written = true, .read = false});
  const int64_t tiles = b.add_argument();
  b.phase([&] {
    const Local shared = b.local(DType::f32, threads, Storage::block);
    const Reg zero = b.index(0);
    b.threads([&](Reg thread) {
      const Local sum = b.local(DType::f32, 4);
      b.lane_loop(kNone, [&](Reg) { b.local_store(sum, zero, Access::contiguous, b.constant(DType::f32, 0)); });
      b.loop(b.index(0), b.index(8), 4, [&](Reg i) {
        b.lane_loop(kNone, [&](Reg) {
          const Reg at = b.mul_add(b.add(b.mul(b.tile(), b.index(threads)), thread), b.index(8), i);
          const Reg old = b.local_load(sum, zero, Access::contiguous);
          b.local_store(sum, zero, Access::contiguous, b.compute(Op::add, old, b.load(x, at, Access::contiguous)));
        });
      });
      Reg total = b.local_load(sum, zero, Access::uniform);
      for (int64_t lane = 1; lane < 4; ++lane)
        total = b.compute(Op::add, total, b.local_load(sum, b.index(lane), Access::uniform));
      b.local_store(shared, thread, Access::uniform, total);
    });
    for (int64_t half = threads / 2; half >= 1; half /= 2) {
      if (barriers) b.barrier();
      b.threads([&](Reg thread) {
        b.branch(b.less(thread, b.index(half)), [&] {
          const Reg mine = b.local_load(shared, thread, Access::uniform);
          const Reg other = b.local_load(shared, b.add(thread, b.index(half)), Access::uniform);
          b.local_store(shared, thread, Access::uniform, b.compute(Op::add, mine, other));
        });
      });
    }
    b.threads([&](Reg thread) {
      b.branch(b.less(thread, b.index(1)), [&] {
        b.store(partial, b.tile(), Access::uniform, b.local_load(shared, thread, Access::uniform), false);
      });
    });
    b.last_block(counter, zero, b.argument(tiles), [&] {
      b.threads([&](Reg thread) {
        b.branch(b.less(thread, b.index(1)), [&] {
          const Local sum = b.local(DType::f32, 1);
          b.local_store(sum, zero, Access::uniform, b.constant(DType::f32, 0));
          b.loop(zero, b.argument(tiles), 1, [&](Reg tile) {
            const Reg term = b.load(partial, tile, Access::uniform);
            b.local_store(sum, zero, Access::uniform,
                          b.compute(Op::add, b.local_load(sum, zero, Access::uniform), term));
          });
          b.store(out, zero, Access::uniform, b.local_load(sum, zero, Access::uniform), false);
        });
      });
    });
  });
  return b.finish();
}

Launch block_launch(int64_t threads) {
  std::vector<double> x;
  for (int64_t i = 0; i < 3 * 8 * threads; ++i) x.push_back(static_cast<double>(i % 11));
  return {
      {3},
      {3},
      {Data::of(DType::f32, x), Data::output(DType::f32, 3), Data::of(DType::u32, {0}), Data::output(DType::f32, 1)}};
}

// Returns a kernel in which each of 4 threads packs the signs of `lanes` numbers, of which `valid` are valid.
Kernel packed_signs(int64_t lanes, int64_t valid) {
  Builder b("pointwise", lanes, 4);
  const int32_t x = b.add_buffer({.dtype = DType::f32});
  const int32_t bits = b.add_buffer({.dtype = DType::u8, .written = true, .read = false});
  b.phase([&] {
    b.threads([&](Reg thread) {
      b.lane_loop(b.index(valid), [&](Reg) {
        const Reg value = b.load(x, b.mul(thread, b.index(lanes)), Access::contiguous);
        b.store_bits(bits, thread, b.compute(Op::lt, value, b.constant(DType::f32, 0)));
      });
    });
  });
  return b.finish();
}

Launch packed_launch(int64_t bytes) {
  std::vector<double> x(32);
  for (const size_t negative : {0u, 9u, 11u, 31u}) x[negative] = -1;
  return {{}, {1}, {Data::of(DType::f32, x), Data::output(DType::u8, bytes)}};
}

// Returns a kernel with `body`, which a tile runs once, on an input "in" and an output "out" of f32.
Kernel scalar_kernel(const std::function<void(Builder&, int32_t in, int32_t out)>& body) {
  Builder b("pointwise", 16);
  const int32_t in = b.add_buffer({.dtype = DType::f32});
  const int32_t out = b.add_buffer({.dtype = DType::f32, .written = true});
  b.phase([&] { body(b, in, out); });
  return b.finish();
}

Launch scalar_launch(int64_t tiles) {
  return {{}, {tiles}, {Data::of(DType::f32, {1, 2, 3, 4}), Data::output(DType::f32, 4)}};
}

BOOST_AUTO_TEST_SUITE(kernel_interpreter)

BOOST_AUTO_TEST_CASE(a_block_reduction_and_its_last_block) {
  const Kernel kernel = block_sum(8, true);
  Launch launch = block_launch(8);
  ir::verify(kernel);
  interpret(kernel, launch);
  double expected = 0;
  for (int64_t i = 0; i < launch.buffers[0].elements; ++i) expected += launch.buffers[0].at(i);
  BOOST_TEST(launch.buffers[3].at(0) == expected);
}

BOOST_AUTO_TEST_CASE(a_missing_barrier_is_a_race) {
  const std::string message = fault(block_sum(8, false), block_launch(8));
  BOOST_TEST(contains(message, "is read in a race with its write"));
}

BOOST_AUTO_TEST_CASE(every_single_missing_barrier_is_found) {
  const Kernel whole = block_sum(8, true);
  const std::vector<Instr>& before = whole.phases[0].body;
  int found = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i].code != Code::barrier) continue;
    Kernel planted = whole;
    planted.phases[0].body.erase(planted.phases[0].body.begin() + static_cast<std::ptrdiff_t>(i));
    BOOST_TEST(contains(fault(planted, block_launch(8)), "in a race"));
    ++found;
  }
  BOOST_TEST(found == 3);
}

BOOST_AUTO_TEST_CASE(lanes_pack_their_bits) {
  const Kernel kernel = packed_signs(8, 8);
  Launch launch = packed_launch(4);
  ir::verify(kernel);
  interpret(kernel, launch);
  const double expected[] = {1, 0b1010, 0, 0b10000000};
  for (int64_t i = 0; i < 4; ++i) BOOST_TEST(launch.buffers[1].at(i) == expected[i]);
  BOOST_TEST(contains(fault(kernel, packed_launch(3)), "b1[3] is out of bounds"));
  BOOST_TEST(contains(fault(packed_signs(4, 4), packed_launch(4)), "other than eight valid lanes"));
  BOOST_TEST(contains(fault(packed_signs(8, 7), packed_launch(4)), "other than eight valid lanes"));
}

BOOST_AUTO_TEST_CASE(bounds) {
  const Kernel reads = scalar_kernel([](Builder& b, int32_t in, int32_t out) {
    b.store(out, b.tile(), Access::uniform, b.load(in, b.add(b.tile(), b.index(1)), Access::uniform), false);
  });
  BOOST_TEST(fault(reads, scalar_launch(3)) == "");
  BOOST_TEST(contains(fault(reads, scalar_launch(4)), "b0[4] is out of bounds"));
}

BOOST_AUTO_TEST_CASE(never_written) {
  const Kernel adds = scalar_kernel([](Builder& b, int32_t in, int32_t out) {
    const Reg sum = b.compute(Op::add, b.load(in, b.tile(), Access::uniform), b.load(out, b.tile(), Access::uniform));
    b.store(out, b.tile(), Access::uniform, sum, false);
  });
  BOOST_TEST(contains(fault(adds, scalar_launch(1)), "b1[0] is read but was never written"));
  Launch defined = scalar_launch(4);
  defined.buffers[1].defined = true;
  BOOST_TEST(fault(adds, defined) == "");
}

BOOST_AUTO_TEST_CASE(tiles_race) {
  const Kernel writes = scalar_kernel([](Builder& b, int32_t in, int32_t out) {
    b.store(out, b.div(b.tile(), b.index(2)), Access::uniform, b.load(in, b.tile(), Access::uniform), false);
  });
  BOOST_TEST(fault(writes, scalar_launch(1)) == "");
  BOOST_TEST(contains(fault(writes, scalar_launch(2)), "b1[0] is written twice in a race"));
  const Kernel reads = scalar_kernel([](Builder& b, int32_t, int32_t out) {
    const Reg next = b.load(out, b.add(b.tile(), b.index(1)), Access::uniform);
    b.store(out, b.tile(), Access::uniform, next, false);
  });
  Launch launch = scalar_launch(2);
  launch.buffers[1].defined = true;
  BOOST_TEST(contains(fault(reads, launch), "b1[1] is written in a race with a read"));
}

BOOST_AUTO_TEST_CASE(lanes_race) {
  const Kernel shifts = scalar_kernel([](Builder& b, int32_t, int32_t) {
    const Local array = b.local(DType::f32, 32);
    b.lane_loop(kNone, [&](Reg) {
      for (int64_t half : {0, 16}) b.local_store(array, b.index(half), Access::contiguous, b.constant(DType::f32, 0));
    });
    b.lane_loop(kNone, [&](Reg) {
      b.local_store(array, b.index(0), Access::contiguous, b.local_load(array, b.index(1), Access::contiguous));
    });
  });
  BOOST_TEST(contains(fault(shifts, scalar_launch(1)), "is written in a race with a read"));
}

// In f32, 1 + 2^-24 rounds to 1, so adding 2^-24 twice leaves 1. With x = 1 + 2^-12, fma rounds x * x - (x * x in f32)
// once and gives 2^-24, which the product alone had lost.
BOOST_AUTO_TEST_CASE(rounds_after_every_instruction) {
  const Kernel kernel = scalar_kernel([](Builder& b, int32_t, int32_t out) {
    const Reg one = b.constant(DType::f32, 1), small = b.constant(DType::f32, 0x1p-24);
    const Reg sum = b.compute(Op::add, b.compute(Op::add, one, small), small);
    b.store(out, b.index(0), Access::uniform, sum, false);
    const Reg x = b.constant(DType::f32, 1 + 0x1p-12);
    const Reg rest = b.fma(x, x, b.compute(Op::neg, b.compute(Op::mul, x, x)));
    b.store(out, b.index(1), Access::uniform, rest, false);
  });
  Launch launch = scalar_launch(1);
  interpret(kernel, launch);
  BOOST_TEST(launch.buffers[1].at(0) == 1.0);
  BOOST_TEST(launch.buffers[1].at(1) == 0x1p-24);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace kb::kernel_interpreter_test
