
#include "tests/runtime/library_runs.h"

#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "runtime/cpu/library_parts.h"

namespace kb::library_test {

BOOST_AUTO_TEST_SUITE(library)

BOOST_AUTO_TEST_CASE(convolutions_of_random_shapes_equal_plain_loops_in_double) {
  LibraryContext context;
  Pool pool(2);
  std::mt19937 random(1);
  for (int i = 0; i < 400; ++i) {
    const ConvCase c(random_conv(random), random);
    const int shards = 1 + i % 4;
    BOOST_TEST_CONTEXT(describe(c.spec) << " shards " << shards) {
      compare(run_conv(context, pool, c, shards), c.expected(), tolerance(c.spec.dtype), describe(c.spec));
    }
  }
}

BOOST_AUTO_TEST_CASE(convolution_bits_depend_on_shards_alone_not_on_threads) {
  LibraryContext context;
  Pool one(1), two(2), three(3), many(64);
  std::mt19937 random(2);
  for (int i = 0; i < 60; ++i) {
    const ConvCase c(random_conv(random), random);
    const Array expected = run_conv(context, one, c, 3);
    BOOST_REQUIRE_MESSAGE(run_conv(context, two, c, 3) == expected, describe(c.spec));
    BOOST_REQUIRE_MESSAGE(run_conv(context, three, c, 3) == expected, describe(c.spec));
    // A machine of 64 processors cuts the call into 64 shards.
    BOOST_REQUIRE_MESSAGE(run_conv(context, many, c, 64) == run_conv(context, one, c, 64), describe(c.spec));
  }
}

BOOST_AUTO_TEST_CASE(a_second_run_and_moved_operands_give_the_same_bits) {
  LibraryContext context;
  Pool pool(2);
  std::mt19937 random(3);
  for (int i = 0; i < 60; ++i) {
    ConvCase c(random_conv(random), random);
    c.spec.kind = ConvKind::weight_grad;
    c.spec.bias = c.spec.relu = false;
    const auto op = plan_conv(context, c.spec, 2);
    Array scratch = array_of_bytes(op->scratch_bytes()), first = c.result();
    const void* in[] = {c.x.data(), c.y.data()};
    void* out[] = {first.data()};
    op->run(pool, in, out, scratch.data());
    const Array once = first;
    op->run(pool, in, out, scratch.data());
    BOOST_REQUIRE_MESSAGE(first == once, describe(c.spec));
    const Array x = c.x, y = c.y;
    BOOST_REQUIRE_MESSAGE(run(*op, pool, {x.data(), y.data()}, c.result()) == once, describe(c.spec));
  }
}

// oneDNN 2.6 writes past its buffer for this combination. The guard after the buffer sees it, and so does
// AddressSanitizer.
BOOST_AUTO_TEST_CASE(strided_1x1_weight_gradients_in_nhwc_stay_inside_their_buffers) {
  LibraryContext context;
  Pool pool(2);
  std::mt19937 random(4);
  for (int64_t channels : {1, 2, 3, 4, 5, 8, 12, 16, 17, 64}) {
    ConvSpec s{.kind = ConvKind::weight_grad, .n = 3, .c = channels, .h = 14, .w = 13, .o = 32};
    s.stride[0] = s.stride[1] = 2;
    s.block_in = channels;
    s.block_out = 32;
    const ConvCase c(s, random);
    compare(run_conv(context, pool, c, 2), c.expected(), tolerance(s.dtype), describe(s));
  }
}

// A tap beside a small image meets no input. oneDNN 2.6 leaves its gradient unwritten on a processor with AMX.
BOOST_AUTO_TEST_CASE(weight_gradients_of_taps_that_meet_no_input_are_zero) {
  LibraryContext context;
  Pool pool(2);
  std::mt19937 random(8);
  for (const DType dtype : {DType::f32, DType::bf16})
    for (const int64_t channels : {16, 32})
      for (const int64_t width : {1, 2}) {
        ConvSpec s{.kind = ConvKind::weight_grad, .dtype = dtype, .n = 2, .c = channels, .h = 2, .w = width, .o = 2};
        s.kh = s.kw = 3;
        s.stride[0] = s.stride[1] = 2;
        s.padding[0] = s.padding[1] = 1;
        s.block_in = channels;
        s.block_out = 2;
        const ConvCase c(s, random);
        compare(run_conv(context, pool, c, 2), c.expected(), tolerance(dtype), describe(s));
      }
}

BOOST_AUTO_TEST_CASE(packed_weights_serve_every_minibatch_and_epilogue) {
  LibraryContext context;
  Pool pool(2);
  std::mt19937 random(5);
  ConvSpec s{.c = 64, .h = 7, .w = 7, .o = 96, .kh = 3, .kw = 3};
  s.padding[0] = s.padding[1] = 1;
  s.block_in = 64;
  s.block_out = 96;
  for (DType dtype : {DType::f32, DType::bf16}) {
    s.dtype = dtype;
    s.n = 2;
    const ConvCase small(s, random);
    const Array packed = pack(context, pool, s, small.w);
    for (int64_t n : {1, 3, 16, 40}) {
      s.n = n;
      s.bias = s.relu = n % 2;
      ConvCase c(s, random);
      c.w = small.w;
      if (packed_weight_bytes(context, s) > 0) BOOST_REQUIRE(pack(context, pool, s, c.w) == packed);
      const auto op = plan_conv(context, s, 2);
      compare(run(*op, pool, c.inputs(packed), c.result()), c.expected(), tolerance(dtype), describe(s));
    }
    s.bias = s.relu = false;
  }
}

BOOST_AUTO_TEST_CASE(matmuls_of_random_shapes_equal_plain_loops_in_double) {
  LibraryContext context;
  Pool one(1), two(2), three(3);
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    const MatmulCase c(random_matmul(random), random);
    const auto op = plan_matmul(context, c.spec, 1 + i % 4);
    const Array got = run(*op, two, c.inputs(), c.result());
    compare(got, c.expected(), tolerance(c.result_dtype()), describe(c.spec));
    BOOST_REQUIRE_MESSAGE(run(*op, one, c.inputs(), c.result()) == got, describe(c.spec));
    BOOST_REQUIRE_MESSAGE(run(*op, three, c.inputs(), c.result()) == got, describe(c.spec));
  }
}

// A shard has 16 rows or columns at least, and a product of fewer is one shard however deep it is.
BOOST_AUTO_TEST_CASE(a_product_of_few_rows_and_columns_is_cut_into_no_empty_shards) {
  BOOST_TEST((cut_matmul({.m = 16, .n = 16, .k = 100000}, 4).bounds == std::vector<int64_t>{0, 16}));
  BOOST_TEST((cut_matmul({.m = 40, .n = 16, .k = 100000}, 8).bounds == std::vector<int64_t>{0, 16, 32, 40}));
}

// The length leaves a rest behind whole vectors, in which each value comes once.
BOOST_AUTO_TEST_CASE(relu_keeps_nan_and_what_is_positive) {
  constexpr double kInf = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> values = {-kInf, -1, -0.0, 0, 0.5, kInf, kNaN};
  for (const DType dtype : {DType::f32, DType::bf16}) {
    Array x(dtype, 5 * std::ssize(values));
    for (int64_t i = 0; i < x.count(); ++i) x.set(i, values[static_cast<size_t>(i) % values.size()]);
    relu_in_place(dtype, x.data(), x.count());
    BOOST_REQUIRE(x.guarded());
    for (int64_t i = 0; i < x.count(); ++i) {
      const double before = values[static_cast<size_t>(i) % values.size()], after = x.get(i);
      BOOST_TEST((std::isnan(before) ? std::isnan(after) : after == std::max(before, 0.0)), before << " -> " << after);
    }
  }
}

// The products are so large that shards cut every axis, and that the library uses its own blocking.
BOOST_AUTO_TEST_CASE(large_matmuls_are_cut_along_every_axis) {
  LibraryContext context;
  Pool one(1), two(2);
  std::mt19937 random(9);
  for (DType dtype : {DType::f32, DType::bf16, DType::f64}) {
    for (int i = 0; i < 12; ++i) {
      MatmulSpec s{.dtype = dtype, .m = 300, .n = 170, .k = 210};
      if (i % 3 == 1) s = {.dtype = dtype, .m = 20, .n = 600, .k = 700};
      if (i % 3 == 2) s = {.dtype = dtype, .batch = 5, .m = 90, .n = 80, .k = 130};
      s.transpose_b = i % 2;
      s.bias = s.relu = i % 6 > 2;
      s.wide = is_low_precision(dtype) && i >= 6;
      const MatmulCase c(s, random);
      const auto op = plan_matmul(context, s, 3);
      const Array got = run(*op, two, c.inputs(), c.result());
      compare(got, c.expected(), tolerance(c.result_dtype()), describe(s));
      BOOST_REQUIRE_MESSAGE(run(*op, one, c.inputs(), c.result()) == got, describe(s));
    }
  }
}

// oneDNN has an order of its own for weights at least where it has AVX-512. Products of more than 128 rows want none.
BOOST_AUTO_TEST_CASE(products_of_packed_weights_equal_plain_loops_in_double) {
  LibraryContext context;
  Pool one(1), two(2);
  std::mt19937 random(11);
  const std::string isa = context.instruction_set();
  const bool is_wide = context.engine() && (isa == "amx" || isa.starts_with("avx512"));
  for (const auto& [m, n, k] : {std::array{1, 40, 30}, {64, 512, 96}, {20, 200, 130}, {120, 48, 64}, {200, 64, 64}}) {
    for (int i = 0; i < 8; ++i) {
      MatmulSpec s{.dtype = i < 4 ? DType::f32 : DType::bf16, .wide = i == 5, .m = m, .n = n, .k = k, .packed = true};
      s.transpose_b = i % 2;
      const size_t bytes = packed_weight_bytes(context, s, 3);
      const bool may_be_packed = context.engine() && m <= 128 && compute_dtype(context, s.dtype) == s.dtype;
      BOOST_REQUIRE(bytes == 0 || may_be_packed);
      BOOST_REQUIRE(bytes > 0 || !may_be_packed || !is_wide);
      if (bytes == 0) continue;
      s.bias = s.relu = i % 4 > 1;
      const MatmulCase c(s, random);
      const Array packed = run(*plan_pack_weights(context, s, 3), two, {c.b.data()}, array_of_bytes(bytes));
      std::vector<const void*> in = c.inputs();
      in[1] = packed.data();
      const auto op = plan_matmul(context, s, 3);
      const Array got = run(*op, two, in, c.result());
      compare(got, c.expected(), tolerance(c.result_dtype()), describe(s));
      BOOST_REQUIRE_MESSAGE(run(*op, one, in, c.result()) == got, describe(s));
    }
  }
}

// ctest runs this again with ONEDNN_MAX_CPU_ISA=AVX2, for which such operands are copied.
BOOST_AUTO_TEST_CASE(products_of_operands_with_rows_2_kib_apart_equal_plain_loops_in_double) {
  LibraryContext context;
  Pool two(2);
  std::mt19937 random(10);
  for (const auto& [m, n] : {std::pair{48, 1024}, {512, 72}, {512, 512}}) {
    for (int i = 0; i < 4; ++i) {
      const MatmulSpec s{
          .m = m, .n = n, .k = 70, .transpose_a = i % 2 != 0, .transpose_b = i / 2 != 0, .bias = m < 512};
      const MatmulCase c(s, random);
      const Array got = run(*plan_matmul(context, s, 3), two, c.inputs(), c.result());
      compare(got, c.expected(), tolerance(DType::f32), describe(s));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::library_test
