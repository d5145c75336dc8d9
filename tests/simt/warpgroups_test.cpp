// Products of warpgroups in the emulator: layouts of their matrices, what they compute, and the faults that it finds.
#include <fmt/format.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <random>

#include "compiler/print/cuda.h"
#include "graph/dtype.h"
#include "tests/simt/hand_kernels.h"
#include "tests/support/support.h"

namespace kb::warpgroups_test {

using namespace kb::simt;
using simt::Program;

namespace {

constexpr size_t kRows = 64, kColumns = 32, kDepth = 32;

// How a matrix lies: by rows of the depth, or transposed; in panels of so many columns.
struct Layout {
  int transposed, panel;
};
struct Case {
  const char* name;
  const char* type;
  Layout a, b;
};
constexpr Case kCases[] = {{"by_rows", "bf16", {0, 32}, {0, 16}},
                           {"by_columns", "bf16", {1, 64}, {1, 32}},
                           {"a_by_columns", "f16", {1, 32}, {0, 32}},
                           {"b_by_columns", "bf16", {0, 16}, {1, 16}},
                           {"a_in_narrow_panels", "bf16", {1, 16}, {0, 32}}};

// b2 += a * b of a 64x32 and a 32x32 matrix, of which b0 and b1 hold the transposed ones where the layout says so. The
// swizzled places are computed by themselves, not by place() of the prelude.
constexpr std::string_view kProduct = R"(extern "C" __global__ void __launch_bounds__(128) {name}(
    const {type}* b0, const {type}* b1, float* b2) {{
  alignas(1024) __shared__ {type} l0[64 * 32];
  alignas(1024) __shared__ {type} l1[32 * 32];
  const auto place = [](int at, int columns, int rows, int panel) {{
    const int r = at / columns, c = at % columns, group = c % panel / 8 ^ r / (64 / panel) % (panel / 8);
    return c / panel * rows * panel + r * panel + group * 8 + c % 8;
  }};
  const int t = threadIdx.x;
  for (int i = t; i < 64 * 32; i += 128) l0[place(i, {ca}, {ra}, {pa})] = b0[i];
  for (int i = t; i < 32 * 32; i += 128) l1[place(i, 32, 32, {pb})] = b1[i];
  show_tensor_cores();
  __syncthreads();
  float* const to = b2 + (t / 32 * 16 + t % 32 / 4) * 32 + t % 4 * 2;
  float d[4][4];
  for (int i = 0; i < 16; ++i) d[i / 4][i % 4] = to[i / 2 % 2 * 8 * 32 + i / 4 * 8 + i % 2];
  using A = Matrix<{ra}, {ca}, {pa}>;
  using B = Matrix<32, 32, {pb}>;
  const u64 x = descriptor<A, {ta}>(l0, 0), y = descriptor<B, {tb}>(l1, 0);
  warpgroup_begin(d);
  for (int k = 0; k < 32; k += 16)
    warpgroup_multiply_add<{ta}, {tb}>(d, from_depth<A, {ta}>(x, k), from_depth<B, {tb}>(y, k), {type}());
  warpgroup_end(d);
  for (int i = 0; i < 16; ++i) to[i / 2 % 2 * 8 * 32 + i / 4 * 8 + i % 2] = d[i / 4][i % 4];
}}
)";

std::string text_of(const Case& c) {
  return fmt::format(kProduct, fmt::arg("name", c.name), fmt::arg("type", c.type), fmt::arg("ta", c.a.transposed),
                     fmt::arg("tb", c.b.transposed), fmt::arg("pa", c.a.panel), fmt::arg("pb", c.b.panel),
                     fmt::arg("ra", c.a.transposed ? 32 : 64), fmt::arg("ca", c.a.transposed ? 64 : 32));
}

struct Plant {
  const char *name, *what, *by, *found;
};
const Plant kPlants[] = {
    {"not_shown", "show_tensor_cores();", "",
     "l0[0] is multiplied by thread 0 of block 0, but thread 0 of block 0 wrote it and did not call "
     "show_tensor_cores()"},
    {"shown_too_late", "show_tensor_cores();\n  __syncthreads();", "__syncthreads();\n  show_tensor_cores();",
     "and did not call show_tensor_cores()"},
    {"no_barrier", "__syncthreads();", "", "a race, no barrier lies between"},
    {"no_begin", "warpgroup_begin(d);", "", "thread 0 multiplies without warpgroup_begin()"},
    {"no_end", "warpgroup_end(d);", "",
     "sums of thread 0 of block 0 are read between warpgroup_begin() and warpgroup_end()"},
    {"written_after_begin", "warpgroup_begin(d);", "warpgroup_begin(d); d[0][0] = 1;",
     "sums of thread 0 of block 0 are written between warpgroup_begin() and warpgroup_end()"},
    {"other_sums", "warpgroup_begin(d);", "float o[4][4]; warpgroup_begin(o);",
     "thread 0 adds products to other sums than it gave to warpgroup_begin()"},
    {"no_end_and_no_use", "warpgroup_end(d);", "return;", "ends with products under way: a wait is missing"},
    {"one_thread_less", "for (int k", "if (t != 70) for (int k",
     "for lanes 0xffffffff of its warp, but thread 70 waits for lanes"},
    {"one_warp_less", "for (int k", "if (t < 96) for (int k",
     "thread 0 has begun 2 products of its warpgroup, but thread 96 0"},
    {"lanes_apart", "k += 16)\n",
     "k += 16)\n if (t == 70)\n"
     "  warpgroup_multiply_add<0, 0>(d, from_depth<A, 0>(x, k), from_depth<B, 0>(y, k), bf16());\n"
     " else\n",
     "for lanes 0xffffffff of its warp, but thread 70 waits for lanes"},
    {"other_matrices", "(y, k)", "(y, t / 32 == 3 ? 0 : k)", "thread 96 multiplies other matrices than its"},
    {"written_meanwhile", "warpgroup_end(d);", "__syncthreads(); l1[t] = b1[t];\nwarpgroup_end(d);",
     "l1[0] is written by thread 0 of block 0 while a product that reads it is under way"},
    {"written_without_barrier", "warpgroup_end(d);", "warpgroup_end(d); if (t == 127) l1[0] = b1[0];",
     "l1[0] is written by thread 127 of block 0, and read by thread 127 of block 0: a race, no barrier lies between"},
    {"past_the_end", "(l1, 0)", "(l1, 4096)", "reads past the arrays in shared memory"},
    {"not_swizzled", "(y, k),", "(y, k) & ~(3ull << 62),", "a descriptor without swizzling"}};

std::vector<std::string> kernels() {
  std::vector<std::string> texts;
  for (const Case& c : kCases) texts.push_back(text_of(c));
  for (const Plant& plant : kPlants) {
    std::string text = text_of(kCases[0]);
    const std::string head = " by_rows(";
    text.replace(text.find(head), head.size(), std::string(" ") + plant.name + "(");
    const size_t at = text.find(plant.what);
    BOOST_REQUIRE(at != std::string::npos);
    texts.push_back(text.replace(at, std::string_view(plant.what).size(), plant.by));
  }
  return texts;
}

const Program& watched() {
  static const Program program(cuda_prelude(), kernels(), Instrument::accesses);
  return program;
}

// The operands of a case, in random numbers that sums of 32 products hold exactly.
struct Run {
  explicit Run(const Case& c) : of(c), a(kRows * kDepth), b(kColumns * kDepth), sum(kRows * kColumns) {
    std::mt19937 random(1);
    const auto number = [&] { return static_cast<double>(static_cast<int>(random() % 17) - 8) / 4; };
    std::ranges::generate(a, number);
    std::ranges::generate(b, number);
    std::ranges::generate(sum, [&] { return static_cast<float>(number()); });
  }

  // Returns the message of the fault; empty when there is none.
  std::string launch(const Program& program, const std::string& name) {
    std::vector<uint16_t> x = bits(a), y = bits(b);
    uint16_t *b0 = x.data(), *b1 = y.data();
    float* b2 = sum.data();
    void* parameters[] = {&b0, &b1, &b2};
    const auto bytes = [](const auto& v) { return static_cast<int64_t>(v.size() * sizeof v[0]); };
    const Region memory[] = {{b0, bytes(x)}, {b1, bytes(y)}, {b2, bytes(sum)}};
    try {
      program.launch(name, {{1}, {128}}, parameters, memory);
    } catch (const Fault& error) {
      return error.what();
    }
    return "";
  }

  double expected(size_t m, size_t n) const {
    double total = 0;
    for (size_t k = 0; k < kDepth; ++k)
      total +=
          a[of.a.transposed ? k * kRows + m : m * kDepth + k] * b[of.b.transposed ? k * kColumns + n : n * kDepth + k];
    return total;
  }

  const Case& of;
  std::vector<double> a, b;
  std::vector<float> sum;

 private:
  std::vector<uint16_t> bits(const std::vector<double>& numbers) const {
    std::vector<uint16_t> result;
    for (const double x : numbers)
      result.push_back(std::string_view(of.type) == "f16" ? float_to_f16(static_cast<float>(x))
                                                          : float_to_bf16(static_cast<float>(x)));
    return result;
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(warpgroups)

BOOST_AUTO_TEST_CASE(products_of_every_layout) {
  for (const Case& c : kCases) {
    Run run(c);
    const std::vector<float> before = run.sum;
    BOOST_TEST(run.launch(watched(), c.name) == "");
    for (size_t m = 0; m < kRows; ++m)
      for (size_t n = 0; n < kColumns; ++n)
        BOOST_TEST(run.sum[m * kColumns + n] == before[m * kColumns + n] + run.expected(m, n), c.name);
  }
}

BOOST_AUTO_TEST_CASE(faults) {
  for (const Plant& plant : kPlants) {
    const std::string message = Run(kCases[0]).launch(watched(), plant.name);
    BOOST_TEST(test::contains(message, plant.found));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::warpgroups_test
