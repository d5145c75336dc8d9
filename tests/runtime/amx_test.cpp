// Kernels for matrix tiles (AMX) beside plain loops in double. They run by loops in place of tiles on every processor,
// and by tiles where this one has them.
#include <boost/test/unit_test.hpp>

#include "runtime/cpu/amx/loops.h"
#include "runtime/cpu/amx_available.h"
#include "tests/runtime/library_runs.h"

namespace kb::library_test {

namespace {

using Planner = std::unique_ptr<LibraryOp> (*)(const ConvSpec&, int);

// Returns the spec of a convolution in NHWC whose height and width differ, as do their strides and paddings.
ConvSpec random_nhwc(std::mt19937& random, ConvKind kind) {
  ConvSpec s{.kind = kind, .dtype = DType::bf16, .n = pick<int64_t>(random, {1, 2, 3})};
  s.c = s.block_in = pick<int64_t>(random, {16, 16, 32, 48});
  s.o = s.block_out = pick<int64_t>(random, {16, 16, 32, 48});
  s.kh = pick<int64_t>(random, {1, 1, 2, 3});
  s.kw = pick<int64_t>(random, {s.kh, s.kh, 1, 4});
  for (const int axis : {0, 1}) {
    s.stride[axis] = kind == ConvKind::forward ? 1 : pick<int64_t>(random, {1, 1, 2, 3});
    s.padding[axis] = pick<int64_t>(random, {0, 1, 2});
  }
  s.h = s.kh + pick<int64_t>(random, {0, 1, 4});
  s.w = s.kw + pick<int64_t>(random, {0, 2, 9});
  return s;
}

bool is_skipped() {
  if (amx::available()) return false;
  BOOST_TEST_MESSAGE("SKIPPED: this processor has no AMX");
  return true;
}

void compare_weight_grad(Planner plan, const ConvSpec& spec, int shards, std::mt19937& random) {
  const ConvCase c(spec, random);
  const auto op = plan(spec, shards);
  BOOST_REQUIRE(op);
  Pool one(1), many(3);
  const Array got = run(*op, one, {c.x.data(), c.y.data()}, c.result());
  compare(got, c.expected(), tolerance(DType::f32), describe(spec));
  BOOST_REQUIRE_MESSAGE(run(*op, many, {c.x.data(), c.y.data()}, c.result()) == got, describe(spec));
}

void compare_weight_grads(Planner plan, int count) {
  std::mt19937 random(1);
  for (int i = 0; i < count; ++i)
    compare_weight_grad(plan, random_nhwc(random, ConvKind::weight_grad), 1 + i % 3, random);
  // A part has 384 pixels, and a group of images 1.25 MB: here an image has several parts, and a group one image.
  ConvSpec large{.kind = ConvKind::weight_grad, .dtype = DType::bf16, .n = 3, .c = 16, .h = 97, .w = 101, .o = 16};
  large.block_in = large.block_out = 16;
  compare_weight_grad(plan, large, 1, random);
  large = {.kind = ConvKind::weight_grad, .dtype = DType::bf16, .n = 3, .c = 16, .h = 29, .w = 31, .o = 16, .kh = 3};
  large.padding[0] = 1;
  large.block_in = large.block_out = 16;
  compare_weight_grad(plan, large, 1, random);
}

void compare_convs(Planner plan, int count) {
  std::mt19937 random(2);
  for (int i = 0; i < count; ++i) {
    ConvSpec spec = random_nhwc(random, i % 2 ? ConvKind::forward : ConvKind::input_grad);
    spec.bias = i % 4 == 1, spec.relu = i % 8 == 3;
    const ConvCase c(spec, random);
    const auto op = plan(spec, 1 + i % 3);
    BOOST_REQUIRE(op);
    Pool one(1), many(3);
    const auto pack = make_pack(amx::weight_layout(spec), DType::bf16);
    const Array weights = run(*pack, one, {c.w.data()}, Array(DType::bf16, c.w.count()));
    const Array got = run(*op, one, c.inputs(weights), c.result());
    compare(got, c.expected(), tolerance(DType::bf16), describe(spec));
    BOOST_REQUIRE_MESSAGE(run(*op, many, c.inputs(weights), c.result()) == got, describe(spec));
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(amx_kernels)

BOOST_AUTO_TEST_CASE(weight_gradients_by_loops_equal_plain_loops_in_double) {
  compare_weight_grads(amx::plan_weight_grad_by_loops, 30);
}

BOOST_AUTO_TEST_CASE(weight_gradients_by_tiles_equal_plain_loops_in_double) {
  if (is_skipped()) return;
  compare_weight_grads(amx::plan_weight_grad, 60);
}

BOOST_AUTO_TEST_CASE(convolutions_and_input_gradients_by_loops_equal_plain_loops_in_double) {
  compare_convs(amx::plan_conv_by_loops, 40);
}

BOOST_AUTO_TEST_CASE(convolutions_and_input_gradients_by_tiles_equal_plain_loops_in_double) {
  if (is_skipped()) return;
  compare_convs(amx::plan_conv, 60);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::library_test
