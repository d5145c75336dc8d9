// Rules that library calls keep: no allocations, scratch, layouts, threads, and specs that are refused.
#include "tests/runtime/library_runs.h"

#include <boost/test/unit_test.hpp>

namespace kb::library_test {

BOOST_AUTO_TEST_SUITE(library_rules)

// The sizes are those of the last layers of a large net: Eigen packs its operands on the stack, never on the heap,
// whatever the extents.
BOOST_AUTO_TEST_CASE(a_convolution_of_many_channels_on_few_pixels_works_in_f64) {
  LibraryContext context;
  Pool pool(2);
  std::mt19937 random(10);
  ConvSpec s{.dtype = DType::f64, .n = 3, .c = 1000, .h = 2, .w = 2, .o = 2100, .block_in = 1000, .block_out = 2100};
  for (const ConvKind kind : {ConvKind::forward, ConvKind::input_grad, ConvKind::weight_grad}) {
    s.kind = kind;
    const ConvCase c(s, random);
    compare(run_conv(context, pool, c, 2), c.expected(), tolerance(s.dtype), describe(s));
    std::swap(s.c, s.o);
    std::swap(s.block_in, s.block_out);
    const ConvCase swapped(s, random);
    compare(run_conv(context, pool, swapped, 2), swapped.expected(), tolerance(s.dtype), describe(s));
  }
}

BOOST_AUTO_TEST_CASE(running_allocates_nothing_of_ours) {
  LibraryContext context;
  Pool pool(3);
  std::mt19937 random(8);
  for (int i = 0; i < 60; ++i) {
    const ConvCase c(random_conv(random), random);
    const Array weights = pack(context, pool, c.spec, c.w);
    const MatmulCase m(random_matmul(random), random);
    const int64_t conv =
        allocations_of_a_second_run(pool, *plan_conv(context, c.spec, 2), c.inputs(weights), c.result());
    BOOST_REQUIRE_MESSAGE(conv == 0, describe(c.spec) << ": " << conv);
    const int64_t matmul = allocations_of_a_second_run(pool, *plan_matmul(context, m.spec, 2), m.inputs(), m.result());
    BOOST_REQUIRE_MESSAGE(matmul == 0, describe(m.spec) << ": " << matmul);
  }
}

// Scratch is planned before it is known which epilogue a call gets.
BOOST_AUTO_TEST_CASE(scratch_does_not_depend_on_the_epilogue) {
  LibraryContext context;
  std::mt19937 random(11);
  for (int i = 0; i < 200; ++i) {
    ConvSpec s = random_conv(random);
    MatmulSpec m = random_matmul(random);
    s.kind = ConvKind::forward;
    s.bias = s.relu = m.bias = m.relu = false;
    const size_t conv = plan_conv(context, s, 3)->scratch_bytes(), matmul = plan_matmul(context, m, 3)->scratch_bytes();
    s.bias = m.bias = random() % 2;
    s.relu = m.relu = !s.bias || random() % 2;
    BOOST_REQUIRE_MESSAGE(plan_conv(context, s, 3)->scratch_bytes() == conv, describe(s));
    BOOST_REQUIRE_MESSAGE(plan_matmul(context, m, 3)->scratch_bytes() == matmul, describe(m));
  }
}

// "ref" is oneDNN's name for its plain loops.
BOOST_AUTO_TEST_CASE(no_layout_of_common_layers_falls_to_plain_loops) {
  LibraryContext context;
  for (auto [c, o, kernel] : {std::array{1, 6, 5},
                              {1, 16, 3},
                              {1, 32, 3},
                              {3, 16, 3},
                              {3, 64, 7},
                              {6, 16, 5},
                              {16, 16, 3},
                              {16, 32, 1},
                              {64, 64, 3},
                              {64, 128, 1},
                              {32, 8, 3}}) {
    for (int64_t in : {1, 8, 16, c}) {
      for (int64_t out : {1, 8, 16, o}) {
        for (ConvKind kind : {ConvKind::forward, ConvKind::input_grad, ConvKind::weight_grad}) {
          ConvSpec s{.kind = kind, .n = 8, .c = c, .h = 16, .w = 16, .o = o, .kh = kernel, .kw = kernel};
          if (c % in || o % out) continue;
          s.padding[0] = s.padding[1] = kernel / 2;
          s.block_in = in;
          s.block_out = out;
          const std::string implementation = plan_conv(context, s, 2)->implementation();
          BOOST_CHECK_MESSAGE(!implementation.starts_with("ref"), describe(s) << ": " << implementation);
        }
      }
    }
  }
}

// oneDNN's own threads would spin between calls and fight with the pool's.
BOOST_AUTO_TEST_CASE(no_thread_is_started_but_the_pools) {
  const auto threads = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
  };
  LibraryContext context;
  const auto before = threads();
  Pool pool(3);
  std::mt19937 random(10);
  for (int i = 0; i < 40; ++i) {
    const ConvCase c(random_conv(random), random);
    run_conv(context, pool, c, 4);
    const MatmulCase m(random_matmul(random), random);
    run(*plan_matmul(context, m.spec, 4), pool, m.inputs(), m.result());
  }
  BOOST_TEST(threads() == before + 2);
}

BOOST_AUTO_TEST_CASE(a_spec_that_is_none_is_refused) {
  LibraryContext context;
  ConvSpec block{.c = 12, .h = 4, .w = 4, .o = 8};
  block.block_in = 8;
  BOOST_CHECK_THROW(plan_conv(context, block, 2), InternalError);
  ConvSpec empty{.c = 4, .h = 4, .w = 4, .o = 8, .kh = 7, .kw = 7};
  BOOST_CHECK_THROW(plan_conv(context, empty, 2), InternalError);
  ConvSpec groups{.c = 4, .h = 4, .w = 4, .o = 8, .groups = 3};
  BOOST_CHECK_THROW(plan_conv(context, groups, 2), InternalError);
  ConvSpec integer{.dtype = DType::i32};
  BOOST_CHECK_THROW(plan_conv(context, integer, 2), InternalError);
  ConvSpec gradient{.kind = ConvKind::input_grad, .relu = true};
  BOOST_CHECK_THROW(plan_conv(context, gradient, 2), InternalError);
  BOOST_CHECK_THROW(plan_conv(context, ConvSpec{}, 0), InternalError);
  BOOST_CHECK_THROW(plan_matmul(context, MatmulSpec{.k = 0}, 2), InternalError);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::library_test
