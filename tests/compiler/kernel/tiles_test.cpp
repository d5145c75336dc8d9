// Tests the products of matrices of KernelIR: their results against plain loops, what the interpreter finds when a wait
// or a barrier is missing, and what ir::verify() refuses.
#include <boost/test/unit_test.hpp>
#include <random>

#include "graph/error.h"
#include "tests/compiler/compiled_kernels.h"
#include "tests/compiler/sample_kernels.h"
#include "tests/interpreters/kernel_interpreter.h"
#include "tests/interpreters/verify_kernel.h"

namespace kb::kernel_tiles_test {
namespace {

using namespace kb::test;

constexpr int64_t kExtent = 32, kStep = 16, kPitch = 40;

// out = a x b of 32 x 32, in two steps of 16 whose copies are under way together; 30 rows of a are there.
Kernel product(bool transposed_a, bool transposed_b) {
  Builder b("product", 4, 64);
  const int32_t first = b.add_buffer({.dtype = DType::bf16}), second = b.add_buffer({.dtype = DType::bf16});
  const int32_t out = b.add_buffer({.dtype = DType::f32, .written = true, .read = false});
  b.phase([&] {
    const auto steps = [&](bool transposed) {
      return transposed ? b.matrices(DType::bf16, 2, kStep, kExtent, kExtent)
                        : b.matrices(DType::bf16, 2, kExtent, kStep, kStep);
    };
    const Local in_a = steps(transposed_a), in_b = steps(transposed_b);
    const Local result = b.local(DType::f32, kExtent * kPitch, Storage::block);
    const Local sums = b.accumulators(kExtent, kExtent);
    const Reg zero = b.index(0), pitch = b.index(kExtent);
    const auto copy = [&](int32_t buffer, const Local& to, bool transposed, int64_t step, int64_t there) {
      const int64_t from = step * (transposed ? kStep * kExtent : kStep);
      b.tile_copy({.buffer = buffer,
                   .at = b.index(from),
                   .pitch = pitch,
                   .valid_rows = b.index(transposed ? kStep : there),
                   .valid_columns = b.index(kExtent)},
                  {to, b.index(step)});
    };
    for (int64_t step : {0, 1}) {
      copy(first, in_a, transposed_a, step, 30);
      copy(second, in_b, transposed_b, step, kExtent);
      b.tile_group();
    }
    for (int64_t step : {0, 1}) {
      b.tile_wait(1 - step);
      b.tile_mma(sums, {in_a, b.index(step), transposed_a}, {in_b, b.index(step), transposed_b});
    }
    b.tile_store(sums, result, kPitch);
    b.barrier();
    b.threads([&](Reg thread) {
      b.branch(b.less(thread, pitch), [&] {
        b.loop(zero, pitch, 1, [&](Reg column) {
          b.store(out, b.mul_add(thread, pitch, column), Access::uniform,
                  b.local_load(result, b.mul_add(thread, b.index(kPitch), column), Access::uniform), false);
        });
      });
    });
  });
  return b.finish();
}

std::vector<double> random_numbers(uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<double> numbers;
  for (int64_t i = 0; i < kExtent * kExtent; ++i)
    numbers.push_back(round_to(DType::bf16, static_cast<float>(random() % 1000) / 500 - 1));
  return numbers;
}

Launch launch_of() {
  return {{},
          {1},
          {Data::of(DType::bf16, random_numbers(1)), Data::of(DType::bf16, random_numbers(2)),
           Data::output(DType::f32, kExtent * kExtent)}};
}

// Returns the message of the fault, which is empty if there is none.
std::string fault(const Kernel& kernel) {
  Launch launch = launch_of();
  try {
    ir::verify(kernel);
    interpret(kernel, launch);
  } catch (const InternalError& error) {
    return error.what();
  }
  return "";
}

std::vector<Instr>& body_of(Kernel& kernel) { return kernel.phases[0].body; }

// Returns the message of the fault when instruction `number` with this code is changed, or left out.
std::string planted(Code code, int number, const std::function<void(Instr&)>& change) {
  Kernel kernel = product(false, false);
  std::vector<Instr>& body = body_of(kernel);
  for (size_t i = 0; i < body.size(); ++i) {
    if (body[i].code != code || number-- > 0) continue;
    if (change)
      change(body[i]);
    else
      body.erase(body.begin() + static_cast<ptrdiff_t>(i));
    return fault(kernel);
  }
  return "no such instruction";
}

void expect(const std::string& words, const std::string& got) { BOOST_TEST(contains(got, words)); }

}  // namespace

BOOST_AUTO_TEST_SUITE(kernel_tiles)

BOOST_AUTO_TEST_CASE(products_are_those_of_plain_loops) {
  const std::vector<double> a = random_numbers(1), b = random_numbers(2);
  for (const bool left : {false, true})
    for (const bool right : {false, true}) {
      Launch launch = launch_of();
      ir::verify(product(left, right));
      interpret(product(left, right), launch);
      for (int64_t m = 0; m < kExtent; ++m)
        for (int64_t n = 0; n < kExtent; ++n) {
          double sum = 0;
          for (int64_t k = 0; k < kExtent; ++k) {
            const double x = a[static_cast<size_t>(left ? k * kExtent + m : m * kExtent + k)];
            sum += (m < 30 || left ? x : 0) * b[static_cast<size_t>(right ? k * kExtent + n : n * kExtent + k)];
          }
          BOOST_TEST(std::abs(launch.buffers[2].at(m * kExtent + n) - sum) < 1e-6);
        }
    }
}

BOOST_AUTO_TEST_CASE(what_is_missing_is_found) {
  const std::string under_way = "is read while a copy into it is under way";
  expect(under_way, planted(Code::tile_wait, 0, {}));
  expect(under_way, planted(Code::tile_wait, 1, {}));
  expect(under_way, planted(Code::tile_wait, 0, [](Instr& instr) { instr.integer = 2; }));
  expect(under_way, planted(Code::tile_group, 0, {}));
  expect("in a race", planted(Code::barrier, 0, {}));
  expect("is out of bounds", planted(Code::tile_copy, 3, [](Instr& instr) { instr.d = instr.c; }));
  expect("is read but was never written", planted(Code::tile_copy, 1, {}));
  expect("not aligned", planted(Code::tile_copy, 0, [](Instr& instr) { instr.valid = instr.c; }));
}

// A copy into what is multiplied, and one that nobody waits for.
BOOST_AUTO_TEST_CASE(copies_behind_a_product_are_judged) {
  Kernel overwritten = product(false, false), left = overwritten;
  std::vector<Instr>& body = body_of(overwritten);
  const auto copy = std::ranges::find(body, Code::tile_copy, &Instr::code);
  const auto multiplies = std::ranges::find(body, Code::tile_mma, &Instr::code);
  body.insert(multiplies + 1, Instr(*copy));
  expect("is written in a race with a read", fault(overwritten));
  // The second step is copied to where the first one is under way to.
  Kernel twice = product(false, false);
  std::vector<Instr*> copies;
  for (Instr& instr : body_of(twice))
    if (instr.code == Code::tile_copy) copies.push_back(&instr);
  copies.at(2)->d = copies.at(0)->d;
  expect("is written while a copy into it is under way", fault(twice));
  body_of(left).push_back(*std::ranges::find(body_of(left), Code::tile_copy, &Instr::code));
  expect("a tile_wait is missing", fault(left));
}

BOOST_AUTO_TEST_CASE(broken_rules_are_refused) {
  expect("an empty local array", planted(Code::local, 3, [](Instr& instr) { instr.integer = 0; }));
  expect("extents of accumulators", planted(Code::local, 3, [](Instr& instr) { instr.integer = 8; }));
  expect("accumulators that warps cannot share", planted(Code::local, 3, [](Instr& instr) {
           instr.tile.rows = 8;
           instr.integer = 256;
         }));
  expect("use of a local array", planted(Code::tile_mma, 0, [](Instr& instr) { instr.buffer = instr.tile.local; }));
  expect("use of a local array", planted(Code::tile_mma, 0, [](Instr& instr) { instr.tile.other = 2; }));
  expect("extents of a product", planted(Code::tile_mma, 0, [](Instr& instr) { instr.tile.transposed = true; }));
  Kernel mixed = product(false, false);
  mixed.buffers[1].dtype = body_of(mixed)[1].type = DType::f16;
  expect("types of a product", fault(mixed));
  expect("matrices of other than 16 bits", planted(Code::local, 0, [](Instr& instr) { instr.type = DType::f32; }));
  const auto shaped = [](int32_t rows, int32_t columns, int32_t panel) {
    return planted(Code::local, 0,
                   [&](Instr& instr) { instr.tile = {.rows = rows, .columns = columns, .panel = panel}; });
  };
  for (const std::string& message : {shaped(24, 16, 16), shaped(32, 12, 16), shaped(32, 16, 32), shaped(16, 32, 16),
                                     shaped(0, 16, 16), shaped(32, 0, 16)})
    expect("extents of matrices", message);
  expect("pitch of a product", planted(Code::tile_store, 0, [](Instr& instr) { instr.tile.pitch = 24; }));
  expect("type of a buffer", planted(Code::tile_copy, 0, [](Instr& instr) { instr.buffer = 2; }));
  Kernel unaligned = product(false, false);
  unaligned.buffers[0].aligned = false;
  expect("a copy of an unaligned buffer", fault(unaligned));
  Kernel on_a_cpu = product(false, false);
  std::erase_if(body_of(on_a_cpu), [](const Instr& instr) { return instr.code == Code::local; });
  on_a_cpu.block_threads = 0;
  expect("inside a thread loop", fault(on_a_cpu));
}

// A warpgroup multiplies 64 rows, and whole panels of a transposed matrix.
BOOST_AUTO_TEST_CASE(rules_of_warpgroups) {
  const auto message = [](int64_t rows, int64_t columns, int64_t part) {
    Builder b("product", 4, 256);
    b.use_warpgroups();
    const int32_t buffer = b.add_buffer({.dtype = DType::bf16});
    b.phase([&] {
      const Local x = b.matrices(DType::bf16, 1, 32, rows, 64), y = b.matrices(DType::bf16, 1, 32, columns, part);
      const Reg zero = b.index(0), all = b.index(128);
      for (const Local& to : {x, y}) b.tile_copy({buffer, zero, all, all, all}, {to, zero});
      b.tile_wait(0);
      b.tile_mma(b.accumulators(rows, columns), {x, zero, true}, {y, zero, true});
    });
    return b.finish();
  };
  ir::verify(message(128, 64, 64));
  ir::verify(message(64, 64, 32));
  expect("panels that warpgroups share", fault(message(64, 64, 64)));
  BOOST_CHECK_THROW(message(96, 64, 64), InternalError);
  BOOST_CHECK_THROW(message(64, 16, 16), InternalError);
  BOOST_CHECK_THROW(warp_grid(128, 64, 320, true), InternalError);
}

BOOST_AUTO_TEST_CASE(warps_share_square_parts) {
  const auto grid = [](int64_t rows, int64_t columns, int64_t threads, bool warpgroups = false) {
    const WarpGrid warps = warp_grid(rows, columns, threads, warpgroups);
    return std::pair(warps.down, warps.across);
  };
  BOOST_TEST((grid(128, 128, 256) == std::pair<int64_t, int64_t>(4, 2)));
  BOOST_TEST((grid(128, 64, 256) == std::pair<int64_t, int64_t>(4, 2)));
  BOOST_TEST((grid(128, 16, 256) == std::pair<int64_t, int64_t>(8, 1)));
  BOOST_TEST((grid(32, 32, 32) == std::pair<int64_t, int64_t>(1, 1)));
  BOOST_TEST((grid(128, 128, 256, true) == std::pair<int64_t, int64_t>(8, 1)));
  BOOST_TEST((grid(64, 64, 256, true) == std::pair<int64_t, int64_t>(4, 2)));
}

BOOST_AUTO_TEST_CASE(storage_past_the_static_bound_is_asked_for) {
  const auto kernel = [](int64_t elements) {
    Builder b("product", 4, 32);
    b.phase([&] { b.local(DType::f32, elements, Storage::block); });
    return b.finish();
  };
  BOOST_TEST(block_storage_bytes(kernel(3)) == 12);
  BOOST_TEST(launched_storage_bytes(kernel(12 * 1024 - 16)) == 0);
  BOOST_TEST(launched_storage_bytes(kernel(12 * 1024)) == 48 * 1024);
  Builder b("product", 4, 32);
  b.phase([&] {
    b.local(DType::f32, 3, Storage::block);
    b.matrices(DType::bf16, 3, 32, 32, 32);
  });
  BOOST_TEST(block_storage_bytes(b.finish()) == 1024 + 3 * 2048);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::kernel_tiles_test
