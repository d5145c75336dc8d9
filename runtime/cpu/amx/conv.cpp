// Each result is the sum over taps of a product of matrices: pixels of the source (pixels, K) times the weights of the
// tap (K, N). An image is copied with zeros around it first, so that a tap is the product with pixels from another one
// on; its rows are as long for all taps, and the sums of the pixels between rows are dropped. The source of an input
// gradient is the output's gradient, N are the input's channels, and shifts change their sign; with a stride the pixels
// of the result fall into planes, to each of which some of the taps contribute.
#include <algorithm>

#include "graph/rounding.h"
#include "runtime/cpu/amx/axis.h"
#include "runtime/cpu/amx/loops.h"
#include "runtime/cpu/amx/sequence.h"

namespace kb::amx {

namespace {

constexpr int64_t kPixels = 2 * kSide;  // pixels whose sums are in tiles at once

// The convolution as a product.
struct ConvPlan {
  Axis axis[2];
  bool forward;
  int64_t k, n;            // channels of the source and of the result
  int64_t h[2], w[2];      // rows and columns of the source and of the result
  int64_t out_rows, rows;  // rows of a plane of the result, and of the source with zeros around it
  int64_t out_columns, pitch;
  int64_t depth;

  explicit ConvPlan(const ConvSpec& s)
      : axis{{s.stride[0], s.padding[0], s.kh}, {s.stride[1], s.padding[1], s.kw}},
        forward(s.kind == ConvKind::forward) {
    const int64_t x = forward ? 0 : 1, y = 1 - x;
    k = forward ? s.c : s.o;
    n = forward ? s.o : s.c;
    h[x] = s.h, w[x] = s.w;
    h[y] = s.out_h(), w[y] = s.out_w();
    out_rows = forward ? s.out_h() : ceil_div(s.h, s.stride[0]);
    out_columns = forward ? s.out_w() : ceil_div(s.w, s.stride[1]);
    rows = out_rows + axis[0].span();
    pitch = out_columns + axis[1].span();
    depth = k % kDepth == 0 ? kDepth : kSide;
  }
  int64_t run() const { return (out_rows - 1) * pitch + out_columns; }  // pixels from the first to the last of a plane
  int64_t copied() const { return rows * pitch + kPixels; }             // pixels of the source, and zeros behind it
  int64_t taps() const { return axis[0].taps * axis[1].taps; }
  int64_t planes() const { return forward ? 1 : axis[0].planes() * axis[1].planes(); }
  // Returns the row (0) or column (1) of the source at which its copy begins.
  int64_t first(int i) const { return forward ? axis[i].least() : -axis[i].most(); }
  // Returns the place of the pixel that a tap joins with the first of its plane, from the beginning of the copy.
  int64_t offset(int i, int64_t tap) const {
    return forward ? axis[i].shift(tap) - axis[i].least() : axis[i].most() - axis[i].shift(tap);
  }
};

// One product of matrices that a plane is the sum of.
struct Tap {
  int64_t source, weights;  // elements from the beginning of the copy, and of the weights of 16 columns
};

template <class Tiles>
class ConvOp : public LibraryOp {
 public:
  ConvOp(const ConvSpec& spec, int shards) : spec_(spec), shards_(std::min<int64_t>(shards, spec.n)), plan_(spec) {
    const auto& [rows, columns] = plan_.axis;
    taps_.resize(static_cast<size_t>(plan_.planes()));
    for (int64_t r = 0; r < rows.taps; ++r) {
      for (int64_t c = 0; c < columns.taps; ++c) {
        const int64_t plane = plan_.forward ? 0 : rows.plane(r) * columns.planes() + columns.plane(c);
        taps_[static_cast<size_t>(plane)].push_back({(plan_.offset(0, r) * plan_.pitch + plan_.offset(1, c)) * plan_.k,
                                                     (r * columns.taps + c) * plan_.k * kSide});
      }
    }
    zeros_ = scratch_.add(static_cast<size_t>(plan_.n) * sizeof(float));
    copy_bytes_ = static_cast<size_t>(plan_.copied() * plan_.k) * sizeof(uint16_t);
    copy_bytes_ = (copy_bytes_ + 63) / 64 * 64;
    copies_ = scratch_.add(copy_bytes_ * static_cast<size_t>(shards_));
  }

  size_t scratch_bytes() const override { return scratch_.bytes(); }
  std::string implementation() const override { return "amx:conv"; }

  void run(Pool& pool, std::span<const void* const> in, std::span<void* const> out, void* scratch) const override {
    std::memset(at(scratch, zeros_), 0, copies_ - zeros_);
    each_shard(pool, shards_, [&](int64_t shard) {
      run_shard(shard, static_cast<const uint16_t*>(in[0]), static_cast<const uint16_t*>(in[1]),
                static_cast<const float*>(spec_.bias ? in[2] : at(scratch, zeros_)), static_cast<uint16_t*>(out[0]),
                scratch);
    });
  }

 private:
  void run_shard(int64_t shard, const uint16_t* source, const uint16_t* weights, const float* bias, uint16_t* result,
                 void* scratch) const {
    auto* copy = at<uint16_t>(scratch, copies_ + copy_bytes_ * static_cast<size_t>(shard));
    const int64_t begin = shard_bound(spec_.n, shards_, shard), end = shard_bound(spec_.n, shards_, shard + 1);
    const int64_t source_image = plan_.h[0] * plan_.w[0] * plan_.k, result_image = plan_.h[1] * plan_.w[1] * plan_.n;
    Tiles tiles;
    tiles.begin(plan_.depth);
    for (int64_t image = begin; image < end; ++image) {
      copy_image(source + image * source_image, copy);
      // An input that no tap meets has the gradient 0.
      if (!plan_.forward && (plan_.axis[0].planes() < spec_.stride[0] || plan_.axis[1].planes() < spec_.stride[1]))
        std::fill_n(result + image * result_image, result_image, uint16_t{0});
      for (int64_t plane = 0; plane < plan_.planes(); ++plane)
        add_plane(tiles, plane, copy, weights, bias, result + image * result_image);
    }
    tiles.end();
    if (spec_.relu) relu_in_place(spec_.dtype, result + begin * result_image, (end - begin) * result_image);
  }

  // Copies an image with zeros around and behind it.
  void copy_image(const uint16_t* image, uint16_t* copy) const {
    const int64_t row = plan_.w[0] * plan_.k, copied_row = plan_.pitch * plan_.k;
    // Columns [begin, end) of a row of the copy are the image's from `first` on.
    const int64_t first = std::max<int64_t>(plan_.first(1), 0),
                  begin = std::clamp<int64_t>(-plan_.first(1), 0, plan_.pitch),
                  end = std::clamp<int64_t>(plan_.w[0] - plan_.first(1), begin, plan_.pitch);
    for (int64_t r = 0; r < plan_.rows; ++r, copy += copied_row) {
      const int64_t source = r + plan_.first(0);
      if (source < 0 || source >= plan_.h[0]) {
        std::fill_n(copy, copied_row, uint16_t{0});
        continue;
      }
      std::fill_n(copy, begin * plan_.k, uint16_t{0});
      std::copy_n(image + source * row + first * plan_.k, (end - begin) * plan_.k, copy + begin * plan_.k);
      std::fill_n(copy + end * plan_.k, (plan_.pitch - end) * plan_.k, uint16_t{0});
    }
    std::fill_n(copy, kPixels * plan_.k, uint16_t{0});
  }

  // Writes the pixels of one plane of the result.
  void add_plane(Tiles& tiles, int64_t plane, const uint16_t* copy, const uint16_t* weights, const float* bias,
                 uint16_t* result) const {
    const std::vector<Tap>& taps = taps_[static_cast<size_t>(plane)];
    const auto& [rows, columns] = plan_.axis;
    const bool f = plan_.forward;
    for (int64_t n = 0; n < plan_.n; n += 2 * kSide) {
      const bool two = plan_.n - n > kSide;
      Walk walk({result,
                 1,
                 plan_.h[1],
                 plan_.w[1],
                 plan_.n,
                 plan_.out_rows,
                 plan_.pitch,
                 {f ? 0 : rows.phase(plane / columns.planes()), f ? 0 : columns.phase(plane % columns.planes())},
                 {f ? 1 : rows.stride, f ? 1 : columns.stride},
                 nullptr});
      for (int64_t pixel = 0; pixel < plan_.run(); pixel += kPixels) {
        alignas(64) float sums[4 * kTile];
        const uint16_t* from = copy + pixel * plan_.k;
        const uint16_t* by = weights + n * plan_.k * plan_.taps();
        two ? multiply<2>(tiles, taps, from, by, sums) : multiply<1>(tiles, taps, from, by, sums);
        for (int64_t p = 0; p < kPixels; ++p) {
          auto* to = const_cast<uint16_t*>(walk.next());
          if (!to) continue;
          const float* row = sums + p / kSide * 2 * kTile + p % kSide * kSide;
          Tiles::round(row, bias + n, to + n);
          if (two) Tiles::round(row + kTile, bias + n + kSide, to + n + kSide);
        }
      }
    }
  }

  // Writes the sums of 32 pixels and 16 kB columns: tile 2 i + j has pixels 16 i on and columns 16 j on.
  template <int kB>
  void multiply(Tiles& tiles, const std::vector<Tap>& taps, const uint16_t* from, const uint16_t* weights,
                float* sums) const {
    const int64_t pixel_bytes = plan_.k * 2, row_bytes = kSide * 4, next = plan_.k * plan_.taps() * kSide;
    tiles.template clear<0>(), tiles.template clear<1>(), tiles.template clear<2>(), tiles.template clear<3>();
    for (const Tap& tap : taps) {
      const uint16_t *a = from + tap.source, *b = weights + tap.weights;
      for (int64_t k = 0; k < plan_.k; k += plan_.depth, a += plan_.depth, b += plan_.depth * kSide) {
        tiles.template load<4>(a, pixel_bytes);
        tiles.template load<6>(b, row_bytes);
        tiles.template multiply<0, 4, 6>();
        tiles.template load<5>(a + kSide * plan_.k, pixel_bytes);
        tiles.template multiply<2, 5, 6>();
        if constexpr (kB == 2) {
          tiles.template load<7>(b + next, row_bytes);
          tiles.template multiply<1, 4, 7>();
          tiles.template multiply<3, 5, 7>();
        }
      }
    }
    tiles.template store<0>(sums, row_bytes);
    tiles.template store<2>(sums + 2 * kTile, row_bytes);
    if constexpr (kB == 2) {
      tiles.template store<1>(sums + kTile, row_bytes);
      tiles.template store<3>(sums + 3 * kTile, row_bytes);
    }
  }

  ConvSpec spec_;
  int64_t shards_;
  ConvPlan plan_;
  std::vector<std::vector<Tap>> taps_;  // one list for each plane of the result
  ScratchLayout scratch_;
  size_t zeros_ = 0, copies_ = 0, copy_bytes_ = 0;
};

bool computes(const ConvSpec& s) {
  const bool stride_fits = s.kind == ConvKind::input_grad || (s.stride[0] == 1 && s.stride[1] == 1);
  return s.kind != ConvKind::weight_grad && fits_tiles(s) && stride_fits;
}

}  // namespace

bool is_faster(const ConvSpec& s) {
  const bool strided = s.stride[0] > 1 || s.stride[1] > 1;
  return computes(s) && ((strided && s.c > kSide) || (s.kind == ConvKind::forward ? s.c : s.o) == kSide);
}

std::unique_ptr<LibraryOp> plan_conv(const ConvSpec& spec, int shards) {
  if (!computes(spec) || !available()) return nullptr;
  return std::make_unique<ConvOp<MachineTiles>>(spec, shards);
}

std::unique_ptr<LibraryOp> plan_conv_by_loops(const ConvSpec& spec, int shards) {
  if (!computes(spec)) return nullptr;
  return std::make_unique<ConvOp<LoopTiles>>(spec, shards);
}

// Weights are (N/16, taps, K/2, 16 columns, 2): a tile of B is contiguous at each depth.
WeightLayout weight_layout(const ConvSpec& s) {
  const ConvPlan plan(s);
  WeightLayout layout = WeightLayout::extents(s, s.dtype);
  layout.group_at = {0};
  (plan.forward ? layout.output_at : layout.input_at) =
      places(plan.n, [&](int64_t n) { return n / kSide * plan.taps() * plan.k * kSide + n % kSide * 2; });
  (plan.forward ? layout.input_at : layout.output_at) =
      places(plan.k, [](int64_t k) { return k / 2 * kDepth + k % 2; });
  layout.tap_at = places(plan.taps(), [&](int64_t tap) { return tap * plan.k * kSide; });
  return layout;
}

}  // namespace kb::amx
