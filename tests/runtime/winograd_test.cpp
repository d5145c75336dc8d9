// Winograd convolutions beside plain loops in double, by the kernels of every instruction set that this processor has.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "runtime/cpu/winograd/plan.h"
#include "tests/runtime/library_runs.h"

namespace kb::library_test {

namespace {

using winograd::Kernels;

// Returns the spec of a call that `kernels` compute, in NHWC or in blocks.
ConvSpec random_spec(std::mt19937& random, const Kernels& kernels) {
  ConvSpec s{.kind = pick(random, {ConvKind::forward, ConvKind::input_grad, ConvKind::weight_grad}),
             .n = pick<int64_t>(random, {1, 2, 3})};
  s.c = pick<int64_t>(random, {16, 16, 32, 48});
  s.o = pick<int64_t>(random, {16, 16, 32, 48});
  s.kh = s.kw = 3;
  s.block_in = pick<int64_t>(random, {kernels.lanes, 16, s.c});
  s.block_out = pick<int64_t>(random, {kernels.lanes, 16, s.o});
  for (const int axis : {0, 1}) s.padding[axis] = pick<int64_t>(random, {0, 1, 1, 2});
  s.h = 3 + pick<int64_t>(random, {0, 1, 2, 5});
  s.w = 3 + pick<int64_t>(random, {0, 1, 3, 10});
  s.bias = s.kind == ConvKind::forward && random() % 2 == 0;
  s.relu = s.bias && random() % 2 == 0;
  return s;
}

Array computed(const Kernels& kernels, Pool& pool, const ConvCase& c, int shards) {
  const ConvSpec& s = c.spec;
  if (s.kind == ConvKind::weight_grad)
    return run(*winograd::plan_weight_grad(kernels, s, shards), pool, c.inputs(c.w), c.result());
  Array terms = array_of_bytes(winograd::packed_weight_bytes(s));
  terms = run(*winograd::plan_pack_weights(s, DType::f32), pool, {c.w.data()}, terms);
  return run(*winograd::plan_conv(kernels, s, shards), pool, c.inputs(terms), c.result());
}

ConvSpec spec_of(ConvKind kind, int64_t n, int64_t c, int64_t o, int64_t h, int64_t w) {
  ConvSpec s{.kind = kind, .n = n, .c = c, .h = h, .w = w, .o = o, .kh = 3, .kw = 3, .padding = {1, 1}};
  s.block_in = s.block_out = 16;
  return s;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(winograd_convolutions)

BOOST_AUTO_TEST_CASE(every_call_equals_plain_loops_in_double_on_any_number_of_threads) {
  Pool one(1), many(3);
  for (const Kernels& kernels : winograd::kernels()) {
    std::mt19937 random(1);
    for (int i = 0; i < 120; ++i) {
      const ConvSpec spec = random_spec(random, kernels);
      const std::string what = std::string(kernels.isa) + ' ' + describe(spec);
      BOOST_REQUIRE_MESSAGE(winograd::computes(kernels, spec), what);
      const ConvCase c(spec, random);
      const int shards = 1 + i % 3;
      const Array got = computed(kernels, one, c, shards);
      compare(got, c.expected(), tolerance(DType::f32), what);
      BOOST_REQUIRE_MESSAGE(computed(kernels, many, c, shards) == got, what);
    }
  }
}

BOOST_AUTO_TEST_CASE(all_instruction_sets_give_the_same_bits) {
  Pool pool(1);
  std::mt19937 random(2);
  for (const ConvKind kind : {ConvKind::forward, ConvKind::input_grad, ConvKind::weight_grad}) {
    const ConvCase c(spec_of(kind, 2, 48, 32, 9, 12), random);
    for (const Kernels& kernels : winograd::kernels())
      BOOST_TEST((computed(kernels, pool, c, 2) == computed(winograd::kernels().front(), pool, c, 2)), kernels.isa);
  }
}

BOOST_AUTO_TEST_CASE(the_bits_of_a_sample_do_not_depend_on_the_others) {
  if (winograd::kernels().empty()) return;
  Pool pool(1);
  std::mt19937 random(3);
  for (const ConvKind kind : {ConvKind::forward, ConvKind::input_grad}) {
    ConvCase all(spec_of(kind, 5, 16, 16, 7, 10), random), last(spec_of(kind, 1, 16, 16, 7, 10), random);
    const int64_t size = last.x.count();
    for (int64_t i = 0; i < size; ++i) {
      last.x.set(i, all.x.get(4 * size + i));
      last.y.set(i, all.y.get(4 * size + i));
    }
    last.w = all.w;
    const Array got = computed(winograd::kernels().front(), pool, all, 2),
                alone = computed(winograd::kernels().front(), pool, last, 1);
    for (int64_t i = 0; i < size; ++i) BOOST_REQUIRE(got.get(4 * size + i) == alone.get(i));
  }
}

BOOST_AUTO_TEST_CASE(an_infinite_input_reaches_the_pixels_that_read_it_and_no_other) {
  Pool pool(1);
  std::mt19937 random(4);
  constexpr int64_t kSide = 12;
  for (const Kernels& kernels : winograd::kernels()) {
    for (const auto& [row, column] : {std::pair<int64_t, int64_t>{4, 7}, {5, 6}, {0, 11}}) {
      ConvCase c(spec_of(ConvKind::forward, 1, 16, 16, kSide, kSide), random);
      c.x.set((row * kSide + column) * 16 + 3, std::numeric_limits<double>::infinity());
      const Array got = computed(kernels, pool, c, 1);
      for (int64_t i = 0; i < got.count(); ++i) {
        const bool reads = std::abs(i / 16 / kSide - row) <= 1 && std::abs(i / 16 % kSide - column) <= 1;
        BOOST_REQUIRE(std::isfinite(got.get(i)) != reads);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(weights_of_16_bits_are_widened_when_packed) {
  Pool pool(1);
  std::mt19937 random(5);
  const ConvSpec spec = spec_of(ConvKind::forward, 1, 16, 32, 4, 4);
  ConvCase c(spec, random);
  Array wide(DType::f32, c.w.count());
  const auto terms = [&](const Array& weights, DType dtype) {
    return run(*winograd::plan_pack_weights(spec, dtype), pool, {weights.data()},
               array_of_bytes(winograd::packed_weight_bytes(spec)));
  };
  for (const DType dtype : {DType::bf16, DType::f16}) {
    Array narrow(dtype, c.w.count());
    for (int64_t i = 0; i < c.w.count(); ++i) narrow.set(i, c.w.get(i)), wide.set(i, narrow.get(i));
    BOOST_TEST((terms(narrow, dtype) == terms(wide, DType::f32)));
    BOOST_TEST(!(terms(narrow, dtype) == terms(c.w, DType::f32)));
  }
}

// 3x3 pixels are 9/16 of the four tiles that cover them.
BOOST_AUTO_TEST_CASE(it_is_taken_where_it_multiplies_less) {
  if (winograd::kernels().empty()) return;
  const auto is_taken = [](auto change, const char* isa = "avx2") {
    ConvSpec spec = spec_of(ConvKind::forward, 2, 16, 16, 8, 8);
    change(spec);
    return winograd::is_faster(spec, isa);
  };
  BOOST_TEST(!is_taken([](ConvSpec&) {}, "portable"));
  BOOST_TEST(is_taken([](ConvSpec&) {}));
  BOOST_TEST(is_taken([](ConvSpec& s) { s.h = s.w = 7; }));
  BOOST_TEST(!is_taken([](ConvSpec& s) { s.h = s.w = 3; }));
  BOOST_TEST(is_taken([](ConvSpec& s) { s.kind = ConvKind::weight_grad; }));
  BOOST_TEST(!is_taken([](ConvSpec& s) { s.dtype = DType::bf16; }));
  BOOST_TEST(!is_taken([](ConvSpec& s) { s.groups = 2; }));
  BOOST_TEST(!is_taken([](ConvSpec& s) { s.stride[0] = 2; }));
  BOOST_TEST(!is_taken([](ConvSpec& s) { s.dilation[1] = 2; }));
  for (const int axis : {0, 1}) BOOST_TEST(!is_taken([axis](ConvSpec& s) { s.padding[axis] = 3; }));
  BOOST_TEST(!is_taken([](ConvSpec& s) { s.kw = 1; }));
  BOOST_TEST(!is_taken([](ConvSpec& s) { s.c = s.block_in = 24; }));
  BOOST_TEST(!is_taken([](ConvSpec& s) { s.block_out = 4; }));
  BOOST_TEST(!is_taken([](ConvSpec& s) { s.o = 96, s.block_out = 32; }));
}

// Returns the root mean square of the errors.
double error(const Array& got, const Expected& expected) {
  double sum = 0;
  for (int64_t i = 0; i < got.count(); ++i) sum += std::pow(got.get(i) - expected.value[i], 2);
  return std::sqrt(sum / static_cast<double>(got.count()));
}

BOOST_AUTO_TEST_CASE(rounding_errors_are_as_large_as_those_of_a_direct_convolution) {
  LibraryContext ours, direct(false);
  Pool pool(1);
  std::mt19937 random(7);
  for (const ConvKind kind : {ConvKind::forward, ConvKind::input_grad, ConvKind::weight_grad}) {
    for (const int64_t channels : {16, 64, 192}) {
      const ConvCase c(spec_of(kind, 2, channels, channels, 6, 6), random);
      const Expected expected = c.expected();
      const double ratio = error(run_conv(ours, pool, c, 1), expected) / error(run_conv(direct, pool, c, 1), expected);
      BOOST_TEST_MESSAGE(describe(c.spec) << ": error over that of a direct convolution " << ratio);
      BOOST_TEST(ratio < 3);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_context_without_kernels_of_our_own_leaves_all_to_the_library) {
  if (winograd::kernels().empty()) return;
  LibraryContext ours, alone(false);
  Pool pool(1);
  std::mt19937 random(6);
  for (const ConvKind kind : {ConvKind::forward, ConvKind::input_grad, ConvKind::weight_grad}) {
    const ConvCase c(spec_of(kind, 1, 16, 32, 8, 8), random);
    BOOST_TEST(plan_conv(ours, c.spec, 1)->implementation().starts_with("winograd:"));
    BOOST_TEST(!plan_conv(alone, c.spec, 1)->implementation().starts_with("winograd:"));
    for (LibraryContext* context : {&ours, &alone})
      compare(run_conv(*context, pool, c, 1), c.expected(), tolerance(DType::f32), describe(c.spec));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::library_test
