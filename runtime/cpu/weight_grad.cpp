// An element of the gradient is the sum over all pixels of an input times the gradient of an output. Twelve vectors
// hold 4 input channels x 3 taps of a row x 8 output channels. A walk along a row reads each input and each gradient
// once for all three taps: there are 12 multiplications to 5 loads, and sums are written once for all rows. oneDNN's
// kernels load the input again for each tap, and write their sums after every row.
#include "graph/rounding.h"
#include "runtime/cpu/library_parts.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>

namespace kb::avx2 {

namespace {

#if defined(__x86_64__)

#define KB_AVX2 [[gnu::target("avx2,fma")]]
#define KB_AVX2_INLINE [[gnu::target("avx2,fma"), gnu::always_inline]] inline

constexpr int64_t kBlock = 8;                  // channels that are adjacent in memory
constexpr int64_t kTaps = 3;                   // taps in a row, and rows of taps
constexpr int64_t kPart = 4;                   // input channels whose sums are in registers
constexpr int64_t kTapSums = kBlock * kBlock;  // floats of one tap: [8 inputs][8 outputs]
constexpr int64_t kOutBlocks = 4;              // blocks of output channels of one task
constexpr int64_t kCachedFloats = 4096;        // 16 KiB, half of the first cache, for the inputs of one walk

// One block of input channels and one of output channels, in some images.
struct Planes {
  const float *x = nullptr, *y = nullptr;  // inputs [H][W][8] and output gradients [OH][OW][8] of the first image
  int64_t x_step = 0, y_step = 0;          // floats from one image to the next
  int64_t images = 0, h = 0, w = 0, out_h = 0, out_w = 0;
};

// The sums of one input channel at the taps of a row, whose input is one column before the output, at it, or after it.
struct TapSums {
  __m256 before, at, behind;

  template <bool kBefore, bool kAt, bool kBehind>
  KB_AVX2_INLINE void add(const float* x, __m256 y_before, __m256 y_at, __m256 y_behind) {
    const __m256 value = _mm256_broadcast_ss(x);
    if constexpr (kBefore) before = _mm256_fmadd_ps(value, y_before, before);
    if constexpr (kAt) at = _mm256_fmadd_ps(value, y_at, at);
    if constexpr (kBehind) behind = _mm256_fmadd_ps(value, y_behind, behind);
  }
  KB_AVX2_INLINE void clear() { before = at = behind = _mm256_setzero_ps(); }
  KB_AVX2_INLINE void add_to(float* sums) const {
    _mm256_storeu_ps(sums, _mm256_add_ps(_mm256_loadu_ps(sums), before));
    _mm256_storeu_ps(sums + kTapSums, _mm256_add_ps(_mm256_loadu_ps(sums + kTapSums), at));
    _mm256_storeu_ps(sums + 2 * kTapSums, _mm256_add_ps(_mm256_loadu_ps(sums + 2 * kTapSums), behind));
  }
};

// Four members, because g++ keeps an array in memory.
struct PartSums {
  TapSums c0, c1, c2, c3;

  // Adds the products of the pixel at x: with y_before at the tap before it, and so on. Taps that are switched off add
  // nothing.
  template <bool kBefore, bool kAt, bool kBehind>
  KB_AVX2_INLINE void add(const float* x, __m256 y_before, __m256 y_at, __m256 y_behind) {
    c0.add<kBefore, kAt, kBehind>(x, y_before, y_at, y_behind);
    c1.add<kBefore, kAt, kBehind>(x + 1, y_before, y_at, y_behind);
    c2.add<kBefore, kAt, kBehind>(x + 2, y_before, y_at, y_behind);
    c3.add<kBefore, kAt, kBehind>(x + 3, y_before, y_at, y_behind);
  }
  KB_AVX2_INLINE void clear() { c0.clear(), c1.clear(), c2.clear(), c3.clear(); }
  KB_AVX2_INLINE void add_to(float* sums) const {
    c0.add_to(sums), c1.add_to(sums + kBlock), c2.add_to(sums + 2 * kBlock), c3.add_to(sums + 3 * kBlock);
  }
};

// Stride 1: input q meets outputs q + 1, q and q - 1.
KB_AVX2_INLINE void add_row(PartSums& sums, const float* x, const float* y, int64_t w) {
  __m256 at = _mm256_loadu_ps(y);
  if (w == 1) return sums.add<false, true, false>(x, at, at, at);
  __m256 before = _mm256_loadu_ps(y + kBlock);
  sums.add<true, true, false>(x, before, at, at);
  for (int64_t q = 1; q < w - 1; ++q) {
    const __m256 behind = at;
    at = before;
    before = _mm256_loadu_ps(y + (q + 1) * kBlock);
    sums.add<true, true, true>(x + q * kBlock, before, at, behind);
  }
  sums.add<false, true, true>(x + (w - 1) * kBlock, before, before, at);
}

// Stride 2: input 2q meets output q, and input 2q + 1 meets outputs q + 1 and q.
KB_AVX2_INLINE void add_row_by_two(PartSums& sums, const float* x, const float* y, int64_t w, int64_t out_w) {
  __m256 at = _mm256_loadu_ps(y);
  for (int64_t q = 0; q < out_w - 1; ++q, x += 2 * kBlock) {
    const __m256 next = _mm256_loadu_ps(y + (q + 1) * kBlock);
    sums.add<false, true, false>(x, at, at, at);
    sums.add<true, false, true>(x + kBlock, next, at, at);
    at = next;
  }
  sums.add<false, true, false>(x, at, at, at);
  if (w % 2 == 0) sums.add<false, false, true>(x + kBlock, at, at, at);
}

// Adds the gradient of kPart channels at one row of taps to `sums`, the sums [tap][input][output] of that row.
template <int64_t kStride>
KB_AVX2 void add_planes(float* sums, const Planes& p, int64_t tap_row) {
  PartSums part;
  part.clear();
  for (int64_t image = 0; image < p.images; ++image) {
    for (int64_t row = 0; row < p.out_h; ++row) {
      const int64_t input_row = row * kStride + tap_row - 1;
      if (input_row < 0 || input_row >= p.h) continue;
      const float* x = p.x + image * p.x_step + input_row * p.w * kBlock;
      const float* y = p.y + image * p.y_step + row * p.out_w * kBlock;
      if constexpr (kStride == 1)
        add_row(part, x, y, p.w);
      else
        add_row_by_two(part, x, y, p.w, p.out_w);
    }
  }
  part.add_to(sums);
}

bool is_covered(const ConvSpec& s) {
  const auto both = [](const int64_t(&pair)[2], int64_t value) { return pair[0] == value && pair[1] == value; };
  return s.kind == ConvKind::weight_grad && s.dtype == DType::f32 && s.groups == 1 && s.block_in == kBlock &&
         s.block_out == kBlock && s.kh == kTaps && s.kw == kTaps && both(s.padding, 1) && both(s.dilation, 1) &&
         (both(s.stride, 1) || both(s.stride, 2));
}

// Returns the layout of the gradient, [O/8][C/8][3][3][8 inputs][8 outputs].
WeightLayout gradient_layout(const ConvSpec& s) {
  WeightLayout layout = WeightLayout::extents(s, DType::f32);
  const int64_t block = layout.taps * kTapSums;
  layout.group_at = {0};
  layout.output_at = places(s.o, [&](int64_t o) { return o / kBlock * (s.c / kBlock) * block + o % kBlock; });
  layout.input_at = places(s.c, [&](int64_t c) { return c / kBlock * block + c % kBlock * kBlock; });
  layout.tap_at = places(layout.taps, [&](int64_t tap) { return tap * kTapSums; });
  return layout;
}

class WeightGradOp : public LibraryOp {
 public:
  WeightGradOp(const ConvSpec& spec, int shards)
      : spec_(spec), shards_(std::min<int64_t>(shards, spec.n)), layout_(gradient_layout(spec)) {}

  size_t scratch_bytes() const override { return layout_.bytes() * static_cast<size_t>(shards_); }
  std::string implementation() const override { return "avx2:weight_grad_3x3"; }

  // Computes the gradient. A task is one shard's gradient of some blocks of output channels.
  void run(Pool& pool, std::span<const void* const> in, std::span<void* const> out, void* scratch) const override {
    const int64_t groups = ceil_div(spec_.o / kBlock, kOutBlocks);
    each_shard(pool, shards_ * groups, [&](int64_t task) {
      add_shard(static_cast<const float*>(in[0]), static_cast<const float*>(in[1]), task / groups, task % groups,
                at<float>(scratch, static_cast<size_t>(task / groups) * layout_.bytes()));
    });
    sum_partials(pool, layout_, scratch, shards_, out[0]);
  }

 private:
  // Adds one shard. An input plane is read for all output blocks of the group in turn, while it is in the second cache.
  void add_shard(const float* x, const float* y, int64_t shard, int64_t group, float* gradient) const {
    const int64_t in_blocks = spec_.c / kBlock, block_floats = kTaps * kTaps * kTapSums;
    const int64_t first = group * kOutBlocks, last = std::min(first + kOutBlocks, spec_.o / kBlock);
    const int64_t x_plane = spec_.h * spec_.w * kBlock, y_plane = spec_.out_h() * spec_.out_w() * kBlock;
    const int64_t together = std::max<int64_t>(1, kCachedFloats / x_plane);
    const int64_t begin = shard_bound(spec_.n, shards_, shard), end = shard_bound(spec_.n, shards_, shard + 1);
    std::fill_n(gradient + first * in_blocks * block_floats, (last - first) * in_blocks * block_floats, 0.0F);
    Planes planes{.x_step = spec_.c * spec_.h * spec_.w,
                  .y_step = spec_.o * spec_.out_h() * spec_.out_w(),
                  .h = spec_.h,
                  .w = spec_.w,
                  .out_h = spec_.out_h(),
                  .out_w = spec_.out_w()};
    for (int64_t n = begin; n < end; n += together) {
      planes.images = std::min(together, end - n);
      for (int64_t in = 0; in < in_blocks; ++in) {
        for (int64_t out = first; out < last; ++out) {
          planes.y = y + n * planes.y_step + out * y_plane;
          add_block(planes, x + n * planes.x_step + in * x_plane, gradient + (out * in_blocks + in) * block_floats);
        }
      }
    }
  }

  // Adds the gradient of one block of input channels at all taps.
  void add_block(Planes planes, const float* x, float* sums) const {
    for (int64_t row = 0; row < kTaps; ++row) {
      for (int64_t part = 0; part < kBlock; part += kPart) {
        planes.x = x + part;
        float* place = sums + row * kTaps * kTapSums + part * kBlock;
        spec_.stride[0] == 1 ? add_planes<1>(place, planes, row) : add_planes<2>(place, planes, row);
      }
    }
  }

  ConvSpec spec_;
  int64_t shards_;
  WeightLayout layout_;
};

#endif

}  // namespace

#if defined(__x86_64__)

std::unique_ptr<LibraryOp> plan_weight_grad(const ConvSpec& spec, int shards) {
  if (!is_covered(spec) || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return nullptr;
  return std::make_unique<WeightGradOp>(spec, shards);
}

#else

std::unique_ptr<LibraryOp> plan_weight_grad(const ConvSpec&, int) { return nullptr; }

#endif

}  // namespace kb::avx2
