// Tests the products of matrices of KernelIR: their results against plain loops, what the interpreter finds when a wait
// or a barrier is missing, and what ir::verify() refuses.
#include <boost/test/unit_test.hpp>
#include <random>

#include "compiler/kernel/interpreter.h"
#include "graph/error.h"
#include "tests/compiler/compiled_kernels.h"
#include "tests/compiler/sample_kernels.h"

namespace kb::kernel_tiles_test {
namespace {

using namespace kb::test;

constexpr int64_t kExtent = 32, kPitch = 40;

// out = a x b of 32 x 32, in two steps of 16 whose copies are under way together; 30 rows of a are there.
Kernel product(bool transposed_a, bool transposed_b) {
  Builder b("product", 4, 64);
  const int32_t first = b.add_buffer({.dtype = DType::bf16}), second = b.add_buffer({.dtype = DType::bf16});
  const int32_t out = b.add_buffer({.dtype = DType::f32, .written = true, .read = false});
  b.phase([&] {
    const Local in_a = b.local(DType::bf16, 2 * kExtent * kPitch, Storage::block);
    const Local in_b = b.local(DType::bf16, 2 * kExtent * kPitch, Storage::block);
    const Local result = b.local(DType::f32, kExtent * kPitch, Storage::block);
    const Local sums = b.accumulators(kExtent, kExtent);
    const Reg zero = b.index(0), pitch = b.index(kExtent);
    const auto copy = [&](int32_t buffer, const Local& to, bool transposed, int64_t step, int64_t there) {
      const int64_t from = step * (transposed ? 16 * kExtent : 16), rows = transposed ? 16 : kExtent;
      b.tile_copy({.buffer = buffer,
                   .at = b.index(from),
                   .pitch = pitch,
                   .valid_rows = b.index(transposed ? 16 : there),
                   .valid_columns = b.index(kExtent),
                   .rows = rows,
                   .columns = transposed ? kExtent : 16},
                  {to, b.index(step * kExtent * kPitch), kPitch});
    };
    for (int64_t step : {0, 1}) {
      copy(first, in_a, transposed_a, step, 30);
      copy(second, in_b, transposed_b, step, kExtent);
      b.tile_group();
    }
    for (int64_t step : {0, 1}) {
      b.tile_wait(1 - step);
      const Reg at = b.index(step * kExtent * kPitch);
      b.tile_mma(sums, {in_a, at, kPitch, transposed_a}, {in_b, at, kPitch, transposed_b}, 16);
    }
    b.tile_store(sums, {result, zero, kPitch});
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

void expect(const std::string& words, const std::string& got) {
  BOOST_TEST(got.find(words) != std::string::npos, words << " expected, got: " << got.substr(0, 160));
}

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
  expect("is out of bounds", planted(Code::tile_copy, 3, [](Instr& instr) { instr.tile.rows = 64; }));
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
  expect("types of a product", planted(Code::tile_mma, 0, [](Instr& instr) { instr.tile.other = 2; }));
  expect("depth of a product", planted(Code::tile_mma, 0, [](Instr& instr) { instr.tile.depth = 8; }));
  expect("a copy that is not aligned", planted(Code::tile_copy, 0, [](Instr& instr) { instr.tile.columns = 12; }));
  expect("type of a buffer", planted(Code::tile_copy, 0, [](Instr& instr) { instr.buffer = 2; }));
  Kernel unaligned = product(false, false);
  unaligned.buffers[0].aligned = false;
  expect("a copy of an unaligned buffer", fault(unaligned));
  Kernel on_a_cpu = product(false, false);
  std::erase_if(body_of(on_a_cpu), [](const Instr& instr) { return instr.code == Code::local; });
  on_a_cpu.block_threads = 0;
  expect("inside a thread loop", fault(on_a_cpu));
}

BOOST_AUTO_TEST_CASE(warps_share_square_parts) {
  const auto grid = [](int64_t rows, int64_t columns, int64_t threads) {
    const WarpGrid warps = warp_grid(rows, columns, threads);
    return std::pair(warps.down, warps.across);
  };
  BOOST_TEST((grid(128, 128, 256) == std::pair<int64_t, int64_t>(4, 2)));
  BOOST_TEST((grid(128, 64, 256) == std::pair<int64_t, int64_t>(4, 2)));
  BOOST_TEST((grid(128, 16, 256) == std::pair<int64_t, int64_t>(8, 1)));
  BOOST_TEST((grid(32, 32, 32) == std::pair<int64_t, int64_t>(1, 1)));
}

BOOST_AUTO_TEST_CASE(storage_past_the_static_bound_is_asked_for) {
  const auto kernel = [](int64_t elements) {
    Builder b("product", 4, 32);
    b.phase([&] { b.local(DType::f32, elements, Storage::block); });
    return b.finish();
  };
  BOOST_TEST(block_storage_bytes(kernel(3)) == 16);
  BOOST_TEST(launched_storage_bytes(kernel(12 * 1024)) == 0);
  BOOST_TEST(launched_storage_bytes(kernel(12 * 1024 + 1)) == 48 * 1024 + 16);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::kernel_tiles_test
