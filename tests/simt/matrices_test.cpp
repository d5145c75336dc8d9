// Matrix instructions in the emulator: their layouts, what they compute, and the faults that it finds.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "compiler/print/cuda.h"
#include "tests/simt/hand_kernels.h"
#include "tests/support/support.h"

namespace kb::matrices_test {

using namespace kb::simt;
using simt::Program;

namespace {

using test::contains;

// b2 += a * b of a 16x16 and a 16x8 matrix, of which b0 and b1 hold the transposed one if e0 and e1. The last 16 - e2
// rows of b0 are zeros.
constexpr std::string_view kProduct = R"(extern "C" __global__ void __launch_bounds__(32) product_{0}(
    const {0}* b0, const {0}* b1, float* b2, long long e0, long long e1, long long e2) {{
  alignas(16) __shared__ {0} l0[256];
  alignas(16) __shared__ {0} l1[128];
  const int lane = threadIdx.x, i = lane / 8, j = lane % 8;
  copy_async(l0 + 8 * lane, b0 + 8 * lane, lane / 2 < e2);
  if (lane < 16) copy_async(l1 + 8 * lane, b1 + 8 * lane, true);
  copies_end();
  copies_wait<0>();
  __syncthreads();
  u32 a[4], b[4];
  if (e0)
    load_matrices_transposed(a, l0 + 16 * (i / 2 * 8 + j) + i % 2 * 8);
  else
    load_matrices(a, l0 + 16 * (i % 2 * 8 + j) + i / 2 * 8);
  if (e1)
    load_matrices(b, l1 + 16 * j + i % 2 * 8);
  else
    load_matrices_transposed(b, l1 + 8 * (i % 2 * 8 + j));
  const u32 first[2] = {{b[0], b[1]}};
  float* const d = b2 + 8 * (lane / 4) + lane % 4 * 2;
  float sums[4] = {{d[0], d[1], d[64], d[65]}};
  multiply_add(sums, a, first, {0}());
  d[0] = sums[0], d[1] = sums[1], d[64] = sums[2], d[65] = sums[3];
}}
)";

// Loads four matrices whose elements are 0, 1, 2 ... The rows lie in another order than the lanes.
const std::string kLayout = R"(extern "C" __global__ void layout(unsigned* b0, long long e0) {
  alignas(16) __shared__ u16 l0[256];
  const int lane = threadIdx.x, at = (5 * lane + 3) % 32;
  for (int i = 0; i < 8; ++i) l0[8 * at + i] = 8 * lane + i;
  __syncthreads();
  u32 r[4];
  if (e0) {
    load_matrices_transposed(r, l0 + 8 * at);
  } else {
    load_matrices(r, l0 + 8 * at);
  }
  for (int i = 0; i < 4; ++i) b0[4 * lane + i] = r[i];
}
)";

std::vector<std::string> kernels() {
  const std::string product = fmt::format(kProduct, "bf16");
  const std::string load = "load_matrices(r, l0 + 8 * at);", multiply = "multiply_add(sums, a, first, bf16());";
  return {product,
          fmt::format(kProduct, "f16"),
          kLayout,
          planted(kLayout, "row_askew", load, "load_matrices(r, l0 + 8 * at + 1);"),
          planted(kLayout, "row_past_the_end", load, "load_matrices(r, l0 + 8 * at + 8);"),
          planted(kLayout, "divergent_load", load, "if (lane != 7) load_matrices(r, l0 + 8 * at);"),
          planted(kLayout, "two_loads", load, "if (lane < 9) load_matrices(r, l0);\nelse load_matrices(r, l0);"),
          planted(product, "divergent_multiply", multiply, "if (lane > 2) " + multiply),
          planted(product, "product_without_wait", "copies_wait<0>();", "")};
}

const Program& watched() {
  static const Program program(cuda_prelude(), kernels(), Instrument::accesses);
  return program;
}

double real(const std::string& type, uint16_t bits) {
  if (type == "bf16") return std::bit_cast<float>(uint32_t{bits} << 16);
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  if (exponent == 31) return fraction ? std::numeric_limits<double>::quiet_NaN() : (bits >> 15 ? -1 : 1) * HUGE_VAL;
  const double size = exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24);
  return bits >> 15 ? -size : size;
}

struct Product {
  explicit Product(const std::string& name, uint32_t seed = 1) : type(name) {
    std::mt19937 random(seed);
    // Numbers of both signs and 16 exponents about 0, in f16 among them those without a leading one.
    const uint32_t lowest = type == "bf16" ? 120u << 7 : 0, span = type == "bf16" ? 16u << 7 : 16u << 10;
    const auto number = [&] { return static_cast<uint16_t>((lowest + random() % span) | (random() % 2) << 15); };
    std::generate(a.begin(), a.end(), number);
    std::generate(b.begin(), b.end(), number);
    for (float& x : sum) x = static_cast<float>(random() % 1000) / 16;
  }

  void run(const Program& program) { launch(program, "product_" + type); }
  void launch(const Program& program, const std::string& name) {
    uint16_t *b0 = a.data(), *b1 = b.data();
    float* b2 = sum.data();
    void* parameters[] = {&b0, &b1, &b2, &a_transposed, &b_transposed, &rows};
    const Region memory[] = {{b0, sizeof a}, {b1, sizeof b}, {b2, sizeof sum}};
    program.launch(name, {{1}, {32}}, parameters, memory);
  }

  double a_at(size_t row, size_t k) const {
    const size_t at = a_transposed ? 16 * k + row : 16 * row + k;
    return at / 16 < static_cast<size_t>(rows) ? real(type, a[at]) : 0;
  }
  double b_at(size_t k, size_t column) const { return real(type, b[b_transposed ? 16 * column + k : 8 * k + column]); }

  const std::string type;
  long long a_transposed = 0, b_transposed = 0, rows = 16;
  alignas(16) std::array<uint16_t, 256> a{};
  alignas(16) std::array<uint16_t, 128> b{};
  alignas(16) std::array<float, 128> sum{};
};

// Returns the fault of a launch of the layout kernel or a planted one.
std::string layout_fault(const std::string& name, std::vector<uint32_t>& r, long long transposed, uint32_t threads) {
  uint32_t* b0 = r.data();
  void* parameters[] = {&b0, &transposed};
  const Region memory[] = {{b0, static_cast<int64_t>(r.size() * sizeof r[0])}};
  try {
    watched().launch(name, {{1}, {threads}}, parameters, memory);
  } catch (const Fault& error) {
    return error.what();
  }
  return "";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(matrices)

BOOST_AUTO_TEST_CASE(layouts) {
  for (const uint32_t transposed : {0u, 1u}) {
    std::vector<uint32_t> r(128);
    BOOST_TEST(layout_fault("layout", r, transposed, 32) == "");
    for (uint32_t lane = 0; lane < 32; ++lane)
      for (uint32_t i = 0; i < 4; ++i) {
        const uint32_t low = transposed ? 16 * (lane % 4) + lane / 4 : 8 * (lane / 4) + 2 * (lane % 4);
        const uint32_t high = low + (transposed ? 8 : 1);
        BOOST_TEST(r[4 * lane + i] == ((64 * i + low) | (64 * i + high) << 16));
      }
  }
}

BOOST_AUTO_TEST_CASE(products) {
  const Program program(cuda_prelude(), kernels());
  uint32_t seed = 0;
  for (const std::string type : {"bf16", "f16"})
    for (const Program* each : {&watched(), &program})
      for (const int kind : {0, 1, 2, 3, 4, 5, 6, 7}) {
        Product product(type, ++seed);
        product.a_transposed = kind & 1;
        product.b_transposed = kind >> 1 & 1;
        product.rows = kind & 4 ? 11 : 16;
        const std::array<float, 128> before = product.sum;
        product.run(*each);
        for (size_t at = 0; at < 128; ++at) {
          double sum = before[at], size = std::abs(sum);
          for (size_t k = 0; k < 16; ++k) {
            sum += product.a_at(at / 8, k) * product.b_at(k, at % 8);
            size += std::abs(product.a_at(at / 8, k) * product.b_at(k, at % 8));
          }
          BOOST_TEST(std::abs(product.sum[at] - sum) <= 0x1p-24 * std::abs(sum) + 0x1p-45 * size);
        }
      }
}

BOOST_AUTO_TEST_CASE(infinities_and_nan) {
  for (const std::string type : {"bf16", "f16"}) {
    const uint16_t infinity = type == "bf16" ? 0x7f80 : 0x7c00, one = type == "bf16" ? 0x3f80 : 0x3c00;
    Product product(type);
    product.a.fill(one);
    product.b.fill(one);
    product.a[16 * 3 + 5] = infinity;
    product.a[16 * 9 + 14] = static_cast<uint16_t>(infinity + 1);
    product.b[8 * 5 + 2] = 0;
    product.run(watched());
    BOOST_TEST(product.sum[8 * 3 + 1] == HUGE_VALF);
    BOOST_TEST(std::isnan(product.sum[8 * 3 + 2]));
    BOOST_TEST(std::isnan(product.sum[8 * 9 + 7]));
    BOOST_TEST(std::isfinite(product.sum[8 * 4 + 2]));
  }
}

BOOST_AUTO_TEST_CASE(faults) {
  std::vector<uint32_t> r(128);
  const auto check = [&](const std::string& name, const std::string& expected, uint32_t threads = 32) {
    const std::string message = layout_fault(name, r, 0, threads);
    BOOST_TEST(contains(message, expected));
  };
  check("row_askew", "l0[25] is accessed by 16 bytes at once, but lies 2 bytes past a multiple of 16");
  check("row_past_the_end", "l0[256] of 256 elements is read out of bounds (16 bytes, thread 12 of block 0)");
  check("divergent_load", "waits in line 10 for lanes 0xffffffff of its warp, but thread 7 has ended");
  check("two_loads", "waits in line 10 for lanes 0xffffffff of its warp, but thread 9 waits for lanes 0xffffffff in");
  check("layout", "of its warp, but thread 16 is not in the block", 16);
  Product product("bf16");
  const auto message = [&](const std::string& name) {
    try {
      product.launch(watched(), name);
    } catch (const Fault& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  BOOST_TEST(contains(message("divergent_multiply"), "of its warp, but thread 0 has ended"));
  BOOST_TEST(
      contains(message("product_without_wait"), "l0[0] is read by thread 0 of block 0 while a copy of thread 0"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::matrices_test
