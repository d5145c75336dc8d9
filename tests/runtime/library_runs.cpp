#include "tests/runtime/library_runs.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <sstream>

#include "graph/error.h"
#include "tests/runtime/allocations.h"

namespace kb::library_test {
namespace {

constexpr size_t kGuard = 256;

int64_t place(int64_t n, int64_t c, int64_t y, int64_t x, int64_t channels, int64_t h, int64_t w, int64_t block) {
  return (((n * (channels / block) + c / block) * h + y) * w + x) * block + c % block;
}

// Calls visit(index of x, index of the canonical weight, index of y) for every product of the convolution.
template <class F>
void each_product(const ConvSpec& s, F visit) {
  const int64_t in = s.c / s.groups, width = s.o / s.groups;
  for (int64_t n = 0; n < s.n; ++n)
    for (int64_t o = 0; o < s.o; ++o)
      for (int64_t i = 0; i < s.out_h(); ++i)
        for (int64_t j = 0; j < s.out_w(); ++j) {
          const int64_t to = place(n, o, i, j, s.o, s.out_h(), s.out_w(), s.block_out);
          for (int64_t c = 0; c < in; ++c) {
            const int64_t plane = place(n, o / width * in + c, 0, 0, s.c, s.h, s.w, s.block_in);
            for (int64_t p = 0; p < s.kh; ++p)
              for (int64_t q = 0; q < s.kw; ++q) {
                const int64_t y = i * s.stride[0] - s.padding[0] + p * s.dilation[0];
                const int64_t x = j * s.stride[1] - s.padding[1] + q * s.dilation[1];
                if (y < 0 || x < 0 || y >= s.h || x >= s.w) continue;
                visit(plane + (y * s.w + x) * s.block_in, ((o * in + c) * s.kh + p) * s.kw + q, to);
              }
          }
        }
}

void add(Expected& sums, int64_t i, double term) {
  sums.value[i] += term;
  sums.size[i] += std::abs(term);
}

int64_t pick_block(std::mt19937& random, int64_t channels) {
  while (true) {
    const int64_t block = pick<int64_t>(random, {1, 8, 16, channels});
    if (channels % block == 0) return block;
  }
}

}  // namespace

Array::Array(DType dtype, int64_t count) : dtype_(dtype), count_(count) {
  store_.resize(static_cast<size_t>(count * size_of(dtype)) + 64 + kGuard, 0xa5);
  offset_ = (64 - reinterpret_cast<uintptr_t>(store_.data()) % 64) % 64;
}

void Array::fill(std::mt19937& random) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (int64_t i = 0; i < count_; ++i) set(i, round_to(dtype_, uniform(random)));
}

double Array::get(int64_t i) const { return load_element(dtype_, data(), i); }

std::vector<double> Array::all() const {
  std::vector<double> values(static_cast<size_t>(count_));
  for (int64_t i = 0; i < count_; ++i) values[i] = get(i);
  return values;
}

void Array::set(int64_t i, double value) { store_element(dtype_, data(), i, value); }

bool Array::guarded() const {
  for (size_t i = offset_ + bytes(); i < offset_ + bytes() + kGuard; ++i)
    if (store_[i] != 0xa5) return false;
  return true;
}

Array array_of_bytes(size_t bytes) { return Array(DType::u8, static_cast<int64_t>(bytes)); }

double tolerance(DType dtype) {
  if (dtype == DType::f64) return 1e-14;
  if (dtype == DType::f32) return 2e-6;
  return dtype == DType::f16 ? 6e-4 : 5e-3;
}

void compare(const Array& got, const Expected& expected, double tolerance, const std::string& what) {
  for (int64_t i = 0; i < got.count(); ++i) {
    const double error = std::abs(got.get(i) - expected.value[i]);
    if (!(error <= tolerance * (expected.size[i] + 1e-30)))
      BOOST_FAIL(what << ": element " << i << " is " << got.get(i) << ", expected " << expected.value[i]);
  }
}

ConvCase::ConvCase(const ConvSpec& s, std::mt19937& random)
    : spec(s),
      x(s.dtype, s.n * s.c * s.h * s.w),
      w(s.dtype, s.o * (s.c / s.groups) * s.kh * s.kw),
      y(s.dtype, s.n * s.o * s.out_h() * s.out_w()),
      bias(s.dtype == DType::f64 ? DType::f64 : DType::f32, s.o) {
  for (Array* array : {&x, &w, &y, &bias}) array->fill(random);
}

Array ConvCase::result() const {
  if (spec.kind == ConvKind::forward) return Array(spec.dtype, y.count());
  if (spec.kind == ConvKind::input_grad) return Array(spec.dtype, x.count());
  return Array(spec.dtype == DType::f64 ? DType::f64 : DType::f32, w.count());
}

std::vector<const void*> ConvCase::inputs(const Array& weights) const {
  if (spec.kind == ConvKind::weight_grad) return {x.data(), y.data()};
  std::vector<const void*> in{spec.kind == ConvKind::forward ? x.data() : y.data(), weights.data()};
  if (spec.bias) in.push_back(bias.data());
  return in;
}

Expected ConvCase::expected() const {
  Expected sums(result().count());
  const std::vector<double> xs = x.all(), ws = w.all(), ys = y.all();
  each_product(spec, [&](int64_t ix, int64_t iw, int64_t iy) {
    if (spec.kind == ConvKind::forward) add(sums, iy, xs[ix] * ws[iw]);
    if (spec.kind == ConvKind::input_grad) add(sums, ix, ys[iy] * ws[iw]);
    if (spec.kind == ConvKind::weight_grad) add(sums, iw, xs[ix] * ys[iy]);
  });
  if (spec.kind != ConvKind::forward) return sums;
  const int64_t plane = spec.out_h() * spec.out_w();
  for (int64_t i = 0; i < std::ssize(sums.value); ++i) {
    const int64_t c = i / (plane * spec.block_out) % (spec.o / spec.block_out) * spec.block_out + i % spec.block_out;
    if (spec.bias) add(sums, i, bias.get(c));
    if (spec.relu) sums.value[i] = std::max(0.0, sums.value[i]);
  }
  return sums;
}

MatmulCase::MatmulCase(const MatmulSpec& s, std::mt19937& random)
    : spec(s),
      a(s.dtype, s.batch * s.m * s.k),
      b(s.dtype, s.batch * s.k * s.n),
      bias(s.dtype == DType::f64 ? DType::f64 : DType::f32, s.n) {
  for (Array* array : {&a, &b, &bias}) array->fill(random);
}

std::vector<const void*> MatmulCase::inputs() const {
  std::vector<const void*> in{a.data(), b.data()};
  if (spec.bias) in.push_back(bias.data());
  return in;
}

Expected MatmulCase::expected() const {
  Expected sums(spec.batch * spec.m * spec.n);
  const std::vector<double> as = a.all(), bs = b.all();
  for (int64_t i = 0; i < std::ssize(sums.value); ++i) {
    const int64_t batch = i / (spec.m * spec.n), row = i / spec.n % spec.m, column = i % spec.n;
    for (int64_t k = 0; k < spec.k; ++k) {
      const int64_t left = spec.transpose_a ? k * spec.m + row : row * spec.k + k;
      const int64_t right = spec.transpose_b ? column * spec.k + k : k * spec.n + column;
      add(sums, i, as[batch * spec.m * spec.k + left] * bs[batch * spec.k * spec.n + right]);
    }
    if (spec.bias) add(sums, i, bias.get(column));
    if (spec.relu) sums.value[i] = std::max(0.0, sums.value[i]);
  }
  return sums;
}

std::string describe(const ConvSpec& s) {
  static const char* const kinds[] = {"forward", "input_grad", "weight_grad"};
  std::ostringstream text;
  text << kinds[static_cast<int>(s.kind)] << ' ' << name(s.dtype) << " n" << s.n << " c" << s.c << '/' << s.block_in
       << " h" << s.h << " w" << s.w << " o" << s.o << '/' << s.block_out << " k" << s.kh << 'x' << s.kw << " s"
       << s.stride[0] << ',' << s.stride[1] << " p" << s.padding[0] << ',' << s.padding[1] << " d" << s.dilation[0]
       << ',' << s.dilation[1] << " g" << s.groups << (s.bias ? " bias" : "") << (s.relu ? " relu" : "");
  return text.str();
}

std::string describe(const MatmulSpec& s) {
  std::ostringstream text;
  text << "matmul " << name(s.dtype) << (s.wide ? " to f32" : "") << " batch " << s.batch << " m" << s.m << " n" << s.n
       << " k" << s.k << (s.transpose_a ? " ta" : "") << (s.transpose_b ? " tb" : "") << (s.bias ? " bias" : "")
       << (s.relu ? " relu" : "");
  return text.str();
}

ConvSpec random_conv(std::mt19937& random) {
  while (true) {
    ConvSpec s;
    s.kind = pick(random, {ConvKind::forward, ConvKind::input_grad, ConvKind::weight_grad});
    s.dtype = pick(random, {DType::f32, DType::f32, DType::bf16, DType::f16, DType::f64});
    s.groups = pick<int64_t>(random, {1, 1, 1, 2, 4});
    s.n = 1 + static_cast<int64_t>(random() % 5);
    s.c = s.groups * pick<int64_t>(random, {1, 3, 4, 8, 16, 13});
    s.o = s.groups * pick<int64_t>(random, {1, 6, 8, 16, 10, 32});
    if (random() % 8 == 0) s.c = s.o = s.groups = pick<int64_t>(random, {8, 16, 32, 5});  // depth-wise
    s.h = 1 + static_cast<int64_t>(random() % 9);
    s.w = 1 + static_cast<int64_t>(random() % 9);
    s.kh = pick<int64_t>(random, {1, 1, 2, 3, 5});
    s.kw = random() % 4 ? s.kh : pick<int64_t>(random, {1, 3});
    for (int axis : {0, 1}) {
      s.stride[axis] = pick<int64_t>(random, {1, 1, 2, 3});
      s.padding[axis] = pick<int64_t>(random, {0, 0, 1, 2});
      s.dilation[axis] = pick<int64_t>(random, {1, 1, 1, 2});
    }
    s.block_in = pick_block(random, s.c);
    s.block_out = pick_block(random, s.o);
    if (s.kind == ConvKind::forward) {
      s.bias = random() % 2;
      s.relu = random() % 2;
    }
    const bool fits =
        s.h + 2 * s.padding[0] > s.dilation[0] * (s.kh - 1) && s.w + 2 * s.padding[1] > s.dilation[1] * (s.kw - 1);
    if (fits) return s;
  }
}

MatmulSpec random_matmul(std::mt19937& random) {
  MatmulSpec s;
  s.dtype = pick(random, {DType::f32, DType::f32, DType::bf16, DType::f16, DType::f64});
  s.batch = pick<int64_t>(random, {1, 1, 2, 3, 5});
  s.m = pick<int64_t>(random, {1, 2, 7, 16, 33, 130});
  s.n = pick<int64_t>(random, {1, 3, 10, 16, 65, 120});
  s.k = pick<int64_t>(random, {1, 5, 16, 31, 100});
  s.transpose_a = random() % 2;
  s.transpose_b = random() % 2;
  s.bias = random() % 2;
  s.relu = random() % 2;
  s.wide = is_low_precision(s.dtype) && random() % 2;
  return s;
}

Array run(const LibraryOp& op, Pool& pool, std::vector<const void*> in, Array result) {
  Array scratch = array_of_bytes(op.scratch_bytes());
  // In a step both hold what another launch left there; these bytes are a NaN of every dtype.
  std::memset(scratch.data(), 0xff, scratch.bytes());
  std::memset(result.data(), 0xff, result.bytes());
  void* out[] = {result.data()};
  op.run(pool, in, out, scratch.data());
  BOOST_REQUIRE(result.guarded());
  BOOST_REQUIRE(scratch.guarded());
  return result;
}

Array pack(LibraryContext& context, Pool& pool, const ConvSpec& spec, const Array& weights) {
  const size_t bytes = packed_weight_bytes(context, spec);
  if (bytes == 0 || spec.kind == ConvKind::weight_grad) return weights;
  return run(*plan_pack_weights(context, spec), pool, {weights.data()}, array_of_bytes(bytes));
}

Array run_conv(LibraryContext& context, Pool& pool, const ConvCase& c, int shards) {
  const Array weights = pack(context, pool, c.spec, c.w);
  return run(*plan_conv(context, c.spec, shards), pool, c.inputs(weights), c.result());
}

int64_t allocations_of_a_second_run(Pool& pool, const LibraryOp& op, const std::vector<const void*>& in, Array result) {
  Array scratch = array_of_bytes(op.scratch_bytes());
  void* out[] = {result.data()};
  op.run(pool, in, out, scratch.data());
  const int64_t before = test::allocations_of_ours();
  op.run(pool, in, out, scratch.data());
  return test::allocations_of_ours() - before;
}

}  // namespace kb::library_test
