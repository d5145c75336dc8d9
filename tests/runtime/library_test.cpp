#include "runtime/cpu/library.h"

#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <random>
#include <sstream>
#include <vector>

#include "graph/error.h"
#include "tests/runtime/allocations.h"

namespace kb::library_test {

namespace {

using Bytes = std::vector<unsigned char>;

// An array of `dtype` whose values are exact in it, on a cache line and with a guard behind it.
class Array {
 public:
  Array(DType dtype, int64_t count) : dtype_(dtype), count_(count) {
    store_.resize(static_cast<size_t>(count * size_of(dtype)) + 64 + kGuard, 0xa5);
    offset_ = (64 - reinterpret_cast<uintptr_t>(store_.data()) % 64) % 64;
  }
  void fill(std::mt19937& random) {
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (int64_t i = 0; i < count_; ++i) set(i, round_to(dtype_, uniform(random)));
  }
  double get(int64_t i) const { return load_element(dtype_, data(), i); }
  std::vector<double> all() const {
    std::vector<double> values(static_cast<size_t>(count_));
    for (int64_t i = 0; i < count_; ++i) values[i] = get(i);
    return values;
  }
  void set(int64_t i, double value) { store_element(dtype_, data(), i, value); }
  void* data() { return store_.data() + offset_; }
  const void* data() const { return store_.data() + offset_; }
  int64_t count() const { return count_; }
  size_t bytes() const { return static_cast<size_t>(count_ * size_of(dtype_)); }
  bool guarded() const {
    for (size_t i = offset_ + bytes(); i < offset_ + bytes() + kGuard; ++i)
      if (store_[i] != 0xa5) return false;
    return true;
  }
  bool operator==(const Array& other) const { return std::memcmp(data(), other.data(), bytes()) == 0; }

 private:
  static constexpr size_t kGuard = 256;
  DType dtype_;
  int64_t count_;
  Bytes store_;
  size_t offset_ = 0;
};

Array array_of_bytes(size_t bytes) { return Array(DType::u8, static_cast<int64_t>(bytes)); }

// Relative to the sum of absolute values of a sum's terms.
double tolerance(DType dtype) {
  if (dtype == DType::f64) return 1e-14;
  if (dtype == DType::f32) return 2e-6;
  return dtype == DType::f16 ? 6e-4 : 5e-3;
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

struct Expected {
  std::vector<double> value, size;  // size: the sum of the terms' absolute values
  explicit Expected(int64_t count) : value(count), size(count) {}
  void add(int64_t i, double term) {
    value[i] += term;
    size[i] += std::abs(term);
  }
};

void compare(const Array& got, const Expected& expected, double tolerance, const std::string& what) {
  for (int64_t i = 0; i < got.count(); ++i) {
    const double error = std::abs(got.get(i) - expected.value[i]);
    if (!(error <= tolerance * (expected.size[i] + 1e-30)))
      BOOST_FAIL(what << ": element " << i << " is " << got.get(i) << ", expected " << expected.value[i]);
  }
}

struct ConvCase {
  ConvSpec spec;
  Array x, w, y, bias;
  ConvCase(const ConvSpec& s, std::mt19937& random)
      : spec(s),
        x(s.dtype, s.n * s.c * s.h * s.w),
        w(s.dtype, s.o * (s.c / s.groups) * s.kh * s.kw),
        y(s.dtype, s.n * s.o * s.out_h() * s.out_w()),
        bias(s.dtype == DType::f64 ? DType::f64 : DType::f32, s.o) {
    for (Array* array : {&x, &w, &y, &bias}) array->fill(random);
  }

  Array result() const {
    if (spec.kind == ConvKind::forward) return Array(spec.dtype, y.count());
    if (spec.kind == ConvKind::input_grad) return Array(spec.dtype, x.count());
    return Array(spec.dtype == DType::f64 ? DType::f64 : DType::f32, w.count());
  }

  std::vector<const void*> inputs(const Array& weights) const {
    if (spec.kind == ConvKind::weight_grad) return {x.data(), y.data()};
    std::vector<const void*> in{spec.kind == ConvKind::forward ? x.data() : y.data(), weights.data()};
    if (spec.bias) in.push_back(bias.data());
    return in;
  }

  Expected expected() const {
    Expected sums(result().count());
    const std::vector<double> xs = x.all(), ws = w.all(), ys = y.all();
    each_product(spec, [&](int64_t ix, int64_t iw, int64_t iy) {
      if (spec.kind == ConvKind::forward) sums.add(iy, xs[ix] * ws[iw]);
      if (spec.kind == ConvKind::input_grad) sums.add(ix, ys[iy] * ws[iw]);
      if (spec.kind == ConvKind::weight_grad) sums.add(iw, xs[ix] * ys[iy]);
    });
    if (spec.kind != ConvKind::forward) return sums;
    const int64_t plane = spec.out_h() * spec.out_w();
    for (int64_t i = 0; i < std::ssize(sums.value); ++i) {
      const int64_t c = i / (plane * spec.block_out) % (spec.o / spec.block_out) * spec.block_out + i % spec.block_out;
      if (spec.bias) sums.add(i, bias.get(c));
      if (spec.relu) sums.value[i] = std::max(0.0, sums.value[i]);
    }
    return sums;
  }
};

Array run(const LibraryOp& op, Pool& pool, std::vector<const void*> in, Array result) {
  Array scratch = array_of_bytes(op.scratch_bytes());
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

template <class T>
T pick(std::mt19937& random, std::initializer_list<T> values) {
  return values.begin()[random() % values.size()];
}

int64_t pick_block(std::mt19937& random, int64_t channels) {
  while (true) {
    const int64_t block = pick<int64_t>(random, {1, 8, 16, channels});
    if (channels % block == 0) return block;
  }
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

struct MatmulCase {
  MatmulSpec spec;
  Array a, b, bias;
  MatmulCase(const MatmulSpec& s, std::mt19937& random)
      : spec(s),
        a(s.dtype, s.batch * s.m * s.k),
        b(s.dtype, s.batch * s.k * s.n),
        bias(s.dtype == DType::f64 ? DType::f64 : DType::f32, s.n) {
    for (Array* array : {&a, &b, &bias}) array->fill(random);
  }

  Array result() const { return Array(result_dtype(), spec.batch * spec.m * spec.n); }
  DType result_dtype() const { return spec.wide ? DType::f32 : spec.dtype; }
  std::vector<const void*> inputs() const {
    std::vector<const void*> in{a.data(), b.data()};
    if (spec.bias) in.push_back(bias.data());
    return in;
  }

  Expected expected() const {
    Expected sums(spec.batch * spec.m * spec.n);
    const std::vector<double> as = a.all(), bs = b.all();
    for (int64_t i = 0; i < std::ssize(sums.value); ++i) {
      const int64_t batch = i / (spec.m * spec.n), row = i / spec.n % spec.m, column = i % spec.n;
      for (int64_t k = 0; k < spec.k; ++k) {
        const int64_t left = spec.transpose_a ? k * spec.m + row : row * spec.k + k;
        const int64_t right = spec.transpose_b ? column * spec.k + k : k * spec.n + column;
        sums.add(i, as[batch * spec.m * spec.k + left] * bs[batch * spec.k * spec.n + right]);
      }
      if (spec.bias) sums.add(i, bias.get(column));
      if (spec.relu) sums.value[i] = std::max(0.0, sums.value[i]);
    }
    return sums;
  }
};

std::string describe(const MatmulSpec& s) {
  std::ostringstream text;
  text << "matmul " << name(s.dtype) << (s.wide ? " to f32" : "") << " batch " << s.batch << " m" << s.m << " n" << s.n
       << " k" << s.k << (s.transpose_a ? " ta" : "") << (s.transpose_b ? " tb" : "") << (s.bias ? " bias" : "")
       << (s.relu ? " relu" : "");
  return text.str();
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

int64_t allocations_of_a_second_run(Pool& pool, const LibraryOp& op, const std::vector<const void*>& in, Array result) {
  Array scratch = array_of_bytes(op.scratch_bytes());
  void* out[] = {result.data()};
  op.run(pool, in, out, scratch.data());
  const int64_t before = test::allocations_of_ours();
  op.run(pool, in, out, scratch.data());
  return test::allocations_of_ours() - before;
}

}  // namespace

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
    // As a machine of 64 processors cuts it.
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

// The combination in which oneDNN 2.6 writes past its buffer: guards on both sides see it, and so does ASan.
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

BOOST_AUTO_TEST_CASE(weights_are_rounded_to_the_convolutions_dtype_when_packed) {
  LibraryContext context;
  Pool pool(1);
  std::mt19937 random(6);
  for (DType dtype : {DType::bf16, DType::f16}) {
    ConvSpec s{.dtype = dtype, .n = 2, .c = 16, .h = 5, .w = 5, .o = 16};
    s.block_in = s.block_out = 16;
    ConvCase c(s, random);
    Array wide(DType::f32, c.w.count());
    wide.fill(random);
    for (int64_t i = 0; i < wide.count(); ++i) c.w.set(i, wide.get(i));
    const size_t bytes = packed_weight_bytes(context, s);
    const auto from_wide = plan_pack_weights(context, s, DType::f32), from_narrow = plan_pack_weights(context, s);
    BOOST_TEST((run(*from_wide, pool, {wide.data()}, array_of_bytes(bytes)) ==
                run(*from_narrow, pool, {c.w.data()}, array_of_bytes(bytes))));
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

// Large enough for every shard to be cut and for the library's own blocking.
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

// As in the last layers of a large net: Eigen packs its operands on the stack, never on the heap, whatever the extents.
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

// Scratch is planned before it is known what a call does in the end.
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
