#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <sstream>
#include <vector>

#include "runtime/cpu/library_parts.h"

namespace kb::weight_grad_test {

namespace {

ConvSpec spec_of(int64_t n, int64_t c, int64_t o, int64_t h, int64_t w, int64_t stride) {
  ConvSpec spec{.kind = ConvKind::weight_grad, .n = n, .c = c, .h = h, .w = w, .o = o, .kh = 3, .kw = 3};
  for (const int axis : {0, 1}) {
    spec.stride[axis] = stride;
    spec.padding[axis] = 1;
  }
  spec.block_in = spec.block_out = 8;
  return spec;
}

std::string describe(const ConvSpec& s) {
  std::ostringstream text;
  text << "n" << s.n << " c" << s.c << " o" << s.o << ' ' << s.h << 'x' << s.w << " stride " << s.stride[0];
  return text.str();
}

int64_t place(int64_t n, int64_t channel, int64_t y, int64_t x, int64_t channels, int64_t h, int64_t w) {
  return (((n * (channels / 8) + channel / 8) * h + y) * w + x) * 8 + channel % 8;
}

// Small whole numbers, whose sums are exact in any order.
std::vector<float> whole_numbers(int64_t count, int64_t factor) {
  std::vector<float> values(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) values[static_cast<size_t>(i)] = static_cast<float>(i * factor % 11 - 5);
  return values;
}

// Returns the gradient (O, C, 3, 3), computed by plain loops. Inputs outside of the image have no products.
std::vector<float> by_loops(const ConvSpec& s, const std::vector<float>& x, const std::vector<float>& y) {
  std::vector<float> gradient;
  for (int64_t o = 0; o < s.o; ++o)
    for (int64_t c = 0; c < s.c; ++c)
      for (int64_t tap = 0; tap < 9; ++tap) {
        double sum = 0;
        for (int64_t n = 0; n < s.n; ++n)
          for (int64_t i = 0; i < s.out_h(); ++i)
            for (int64_t j = 0; j < s.out_w(); ++j) {
              const int64_t row = i * s.stride[0] + tap / 3 - 1, column = j * s.stride[1] + tap % 3 - 1;
              if (row < 0 || column < 0 || row >= s.h || column >= s.w) continue;
              sum += static_cast<double>(x[static_cast<size_t>(place(n, c, row, column, s.c, s.h, s.w))]) *
                     y[static_cast<size_t>(place(n, o, i, j, s.o, s.out_h(), s.out_w()))];
            }
        gradient.push_back(static_cast<float>(sum));
      }
  return gradient;
}

// Returns the gradient that avx2::plan_weight_grad computes; empty if this processor has no AVX2.
std::vector<float> computed(const ConvSpec& s, const std::vector<float>& x, const std::vector<float>& y, int shards,
                            int threads) {
  const auto op = avx2::plan_weight_grad(s, shards);
  if (!op) return {};
  Pool pool(threads);
  std::vector<float> gradient(static_cast<size_t>(s.o * s.c * 9), -1), scratch(op->scratch_bytes() / sizeof(float), -1);
  const void* in[] = {x.data(), y.data()};
  void* out[] = {gradient.data()};
  op->run(pool, in, out, scratch.data());
  return gradient;
}

bool is_skipped() {
  if (avx2::plan_weight_grad(spec_of(1, 8, 8, 3, 3, 1), 1)) return false;
  BOOST_TEST_MESSAGE("SKIPPED: this processor has no AVX2");
  return true;
}

void check_equal(const ConvSpec& s, int shards, int threads) {
  const std::vector<float> x = whole_numbers(input_elements(s), 7), y = whole_numbers(output_elements(s), 3);
  BOOST_REQUIRE_MESSAGE(computed(s, x, y, shards, threads) == by_loops(s, x, y), describe(s) << " shards " << shards);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(weight_grad)

BOOST_AUTO_TEST_CASE(every_height_width_and_stride_equals_plain_loops) {
  if (is_skipped()) return;
  for (const int64_t stride : {1, 2})
    for (int64_t h = 1; h <= 6; ++h)
      for (int64_t w = 1; w <= 6; ++w) check_equal(spec_of(2, 16, 8, h, w, stride), 1, 1);
}

BOOST_AUTO_TEST_CASE(any_number_of_samples_channels_shards_and_threads_equals_plain_loops) {
  if (is_skipped()) return;
  for (const int64_t n : {1, 3, 5})
    for (const int shards : {1, 2, 4})
      for (const int threads : {1, 3}) check_equal(spec_of(n, 8 * n, 24, 5, 7, 1), shards, threads);
  check_equal(spec_of(2, 8, 48, 5, 7, 1), 2, 3);   // more output channels than a task has
  check_equal(spec_of(3, 8, 8, 40, 37, 1), 2, 2);  // the inputs of an image exceed those of a walk
  check_equal(spec_of(9, 8, 8, 12, 11, 2), 2, 2);  // a walk has several images, and the last fewer
}

BOOST_AUTO_TEST_CASE(an_infinite_input_reaches_the_taps_that_meet_it_and_no_other) {
  if (is_skipped()) return;
  for (const int64_t stride : {1, 2}) {
    const ConvSpec s = spec_of(1, 8, 8, 1, 6, stride);
    std::vector<float> x = whole_numbers(input_elements(s), 7);
    const std::vector<float> y(static_cast<size_t>(output_elements(s)), 1);
    x[static_cast<size_t>(place(0, 3, 0, 5, 8, 1, 6))] = std::numeric_limits<float>::infinity();
    const std::vector<float> gradient = computed(s, x, y, 1, 1);
    BOOST_TEST((gradient == by_loops(s, x, y)));
    BOOST_TEST(std::isfinite(gradient[3 * 9 + 3]));  // no output reads the last column by this tap
    BOOST_TEST(std::isinf(gradient[3 * 9 + 4]) == (stride == 1));
    BOOST_TEST(std::isinf(gradient[3 * 9 + 5]));
  }
}

BOOST_AUTO_TEST_CASE(what_it_does_not_compute_is_left_to_the_library) {
  const auto is_taken = [](auto change) {
    ConvSpec spec = spec_of(2, 16, 16, 6, 6, 1);
    change(spec);
    return avx2::plan_weight_grad(spec, 1) != nullptr;
  };
  BOOST_TEST(!is_taken([](ConvSpec& s) { s.kind = ConvKind::forward; }));
  BOOST_TEST(!is_taken([](ConvSpec& s) { s.dtype = DType::f64; }));
  BOOST_TEST(!is_taken([](ConvSpec& s) { s.groups = 2; }));
  BOOST_TEST(!is_taken([](ConvSpec& s) { s.block_in = 16; }));
  BOOST_TEST(!is_taken([](ConvSpec& s) { s.kw = 5; }));
  BOOST_TEST(!is_taken([](ConvSpec& s) { s.padding[0] = 0; }));
  BOOST_TEST(!is_taken([](ConvSpec& s) { s.stride[0] = 2; }));
  BOOST_TEST(!is_taken([](ConvSpec& s) { s.dilation[1] = 2; }));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::weight_grad_test
