// The gradient at a tap is a product of matrices: the inputs that the tap meets, transposed (C, pixels), times the
// output gradients (pixels, O). Some images at a time are written in the order of tiles: inputs with the pixels of a
// channel side by side, output gradients in pairs of pixels. Rows of both are equally long, with zeros where an input
// lies outside of its image, so that a tap is the same product with inputs from another pixel on. With a stride the
// inputs are several planes, one for each remainder of rows and columns, in each of which the stride is 1.
#include <algorithm>

#include "graph/rounding.h"
#include "runtime/cpu/amx/axis.h"
#include "runtime/cpu/amx/loops.h"
#include "runtime/cpu/amx/sequence.h"

namespace kb::amx {

namespace {

constexpr int64_t kPartDepth = 384;  // pixels of a part, whose inputs and gradients for 32 channels fit the first cache
constexpr int64_t kGroupBytes = 1'250'000;  // inputs and gradients of some images, which fit the second cache

// How the images of a shard are cut and written.
struct GradPlan {
  Axis axis[2];
  int64_t rows, pitch;     // extents of an input plane
  bool joined;             // no tap meets an input outside: all images are one run of pixels
  int64_t images;          // images of a group
  int64_t x_step, y_step;  // pixels of a channel of a plane, and of the output gradients, of a group

  explicit GradPlan(const ConvSpec& s, int64_t most_images)
      : axis{{s.stride[0], s.padding[0], s.kh}, {s.stride[1], s.padding[1], s.kw}} {
    rows = s.out_h() + axis[0].span();
    pitch = s.out_w() + axis[1].span();
    joined = axis[0].span() == 0 && axis[1].span() == 0;
    const int64_t pixel_bytes = 2 * (s.c * planes() + s.o);
    images = std::clamp<int64_t>(kGroupBytes / (rows * pitch * pixel_bytes), 1, most_images);
    y_step = runs(images) * run_pixels(s, images);
    // Rows of a tile lie an odd number of cache lines apart, so that they fall into different sets of the cache.
    x_step = round_up(images * rows * pitch + kDepth, 2 * kDepth) + kDepth;
  }
  int64_t planes() const { return axis[0].planes() * axis[1].planes(); }
  int64_t runs(int64_t count) const { return joined ? 1 : count; }
  // Returns the pixels of a run, rounded up to whole tiles, of which those between rows and behind the last are zeros.
  int64_t run_pixels(const ConvSpec& s, int64_t count) const {
    return round_up(joined ? count * rows * pitch : (s.out_h() - 1) * pitch + s.out_w(), kDepth);
  }
};

// Returns the layout of the sums, [tap][C/16][O/16][16 inputs][16 outputs].
WeightLayout sums_layout(const ConvSpec& s) {
  WeightLayout layout = WeightLayout::extents(s, DType::f32);
  layout.group_at = {0};
  layout.output_at = places(s.o, [](int64_t o) { return o / kSide * kTile + o % kSide; });
  layout.input_at = places(s.c, [&](int64_t c) { return c / kSide * s.o * kSide + c % kSide * kSide; });
  layout.tap_at = places(layout.taps, [&](int64_t tap) { return tap * s.o * s.c; });
  return layout;
}

// Some pixels of some runs, and where they begin in the inputs of a channel and in the gradients.
struct Part {
  int64_t runs, tiles;     // tiles of 32 pixels of each run
  int64_t x_run, y_run;    // pixels from one run to the next
  int64_t x_step, y_step;  // see GradPlan
  bool first;              // the sums begin with this part
};

// Adds the products of one part to the sums of kA x kB tiles, which are `row` floats apart.
template <class Tiles, int kA, int kB>
void add_products(Tiles& tiles, const Part& part, const uint16_t* x, const uint16_t* y, float* sums, int64_t row) {
  const int64_t bytes = kSide * 4;
  const auto at = [&](int64_t a, int64_t b) { return sums + a * row + b * kTile; };
  if (part.first) {
    tiles.template clear<0>(), tiles.template clear<1>(), tiles.template clear<2>(), tiles.template clear<3>();
  } else {
    tiles.template load<0>(at(0, 0), bytes);
    if constexpr (kB == 2) tiles.template load<1>(at(0, 1), bytes);
    if constexpr (kA == 2) tiles.template load<2>(at(1, 0), bytes);
    if constexpr (kA * kB == 4) tiles.template load<3>(at(1, 1), bytes);
  }
  const int64_t x_bytes = part.x_step * 2;
  for (int64_t run = 0; run < part.runs; ++run) {
    const uint16_t *a = x + run * part.x_run, *b = y + run * part.y_run * kSide;
    for (int64_t tile = 0; tile < part.tiles; ++tile, a += kDepth, b += kInputs) {
      tiles.template load<4>(a, x_bytes);
      tiles.template load<6>(b, kDepth * 2);
      tiles.template multiply<0, 4, 6>();
      if constexpr (kB == 2) {
        tiles.template load<7>(b + part.y_step * kSide, kDepth * 2);
        tiles.template multiply<1, 4, 7>();
      }
      if constexpr (kA == 2) {
        tiles.template load<5>(a + kSide * part.x_step, x_bytes);
        tiles.template multiply<2, 5, 6>();
      }
      if constexpr (kA * kB == 4) tiles.template multiply<3, 5, 7>();
    }
  }
  tiles.template store<0>(at(0, 0), bytes);
  if constexpr (kB == 2) tiles.template store<1>(at(0, 1), bytes);
  if constexpr (kA == 2) tiles.template store<2>(at(1, 0), bytes);
  if constexpr (kA * kB == 4) tiles.template store<3>(at(1, 1), bytes);
}

template <class Tiles>
void add_products(Tiles& tiles, int64_t inputs, int64_t outputs, const Part& part, const uint16_t* x, const uint16_t* y,
                  float* sums, int64_t row) {
  if (inputs > kSide && outputs > kSide) return add_products<Tiles, 2, 2>(tiles, part, x, y, sums, row);
  if (inputs > kSide) return add_products<Tiles, 2, 1>(tiles, part, x, y, sums, row);
  if (outputs > kSide) return add_products<Tiles, 1, 2>(tiles, part, x, y, sums, row);
  add_products<Tiles, 1, 1>(tiles, part, x, y, sums, row);
}

template <class Tiles>
class WeightGradOp : public LibraryOp {
 public:
  WeightGradOp(const ConvSpec& spec, int shards)
      : spec_(spec),
        shards_(std::min<int64_t>(shards, spec.n)),
        plan_(spec, spec.n - shard_bound(spec.n, shards_, shards_ - 1)),
        layout_(sums_layout(spec)) {
    sums_ = scratch_.add(layout_.bytes() * static_cast<size_t>(shards_));
    zeros_ = scratch_.add(static_cast<size_t>(std::max(spec.c, spec.o)) * 2);
    ScratchLayout own;
    x_ = own.add(static_cast<size_t>(plan_.planes() * spec.c * plan_.x_step) * 2);
    y_ = own.add(static_cast<size_t>(spec.o * plan_.y_step) * 2);
    own_bytes_ = own.bytes();
    own_ = scratch_.add(own_bytes_ * static_cast<size_t>(shards_));
  }

  size_t scratch_bytes() const override { return scratch_.bytes(); }
  std::string implementation() const override { return "amx:weight_grad"; }

  void run(Pool& pool, std::span<const void* const> in, std::span<void* const> out, void* scratch) const override {
    std::fill_n(at<uint16_t>(scratch, zeros_), std::max(spec_.c, spec_.o), uint16_t{0});
    each_shard(pool, shards_, [&](int64_t shard) {
      add_shard(static_cast<const uint16_t*>(in[0]), static_cast<const uint16_t*>(in[1]), shard, scratch);
    });
    sum_partials(pool, layout_, at(scratch, sums_), shards_, out[0]);
  }

 private:
  void add_shard(const uint16_t* x, const uint16_t* y, int64_t shard, void* scratch) const {
    char* own = at(scratch, own_ + own_bytes_ * static_cast<size_t>(shard));
    auto *own_x = at<uint16_t>(own, x_), *own_y = at<uint16_t>(own, y_);
    const auto* zeros = at<uint16_t>(scratch, zeros_);
    auto* sums = at<float>(scratch, sums_ + layout_.bytes() * static_cast<size_t>(shard));
    const int64_t begin = shard_bound(spec_.n, shards_, shard), end = shard_bound(spec_.n, shards_, shard + 1);
    Tiles tiles;
    for (int64_t n = begin; n < end; n += plan_.images) {
      const int64_t images = std::min(plan_.images, end - n);
      write_inputs(x + n * spec_.h * spec_.w * spec_.c, images, zeros, own_x);
      write_gradients(y + n * spec_.out_h() * spec_.out_w() * spec_.o, images, zeros, own_y);
      tiles.begin(kDepth);
      add_group(tiles, images, n == begin, own_x, own_y, sums);
      tiles.end();
    }
  }

  void write_inputs(const uint16_t* x, int64_t images, const uint16_t* zeros, uint16_t* out) const {
    const auto& [rows, columns] = plan_.axis;
    for (int64_t r = 0; r < rows.planes(); ++r) {
      for (int64_t c = 0; c < columns.planes(); ++c) {
        const Sequence sequence{
            x,
            images,
            spec_.h,
            spec_.w,
            spec_.c,
            plan_.rows,
            plan_.pitch,
            {rows.least() * rows.stride + rows.phase(r), columns.least() * columns.stride + columns.phase(c)},
            {rows.stride, columns.stride},
            zeros};
        uint16_t* plane = out + (r * columns.planes() + c) * spec_.c * plan_.x_step;
        visit_blocks(sequence, plan_.x_step, [&](int64_t first, int64_t channel, const uint16_t* const* pixels) {
          Tiles::transpose(pixels, channel, plane + channel * plan_.x_step + first, plan_.x_step);
        });
      }
    }
  }

  void write_gradients(const uint16_t* y, int64_t images, const uint16_t* zeros, uint16_t* out) const {
    const int64_t oh = spec_.out_h(), ow = spec_.out_w(), pixels_of_run = plan_.run_pixels(spec_, images);
    for (int64_t run = 0; run < plan_.runs(images); ++run, y += oh * ow * spec_.o, out += pixels_of_run * kSide) {
      const Sequence sequence{y, plan_.joined ? images : 1, oh, ow, spec_.o, oh, plan_.pitch, {0, 0}, {1, 1}, zeros};
      visit_blocks(sequence, pixels_of_run, [&](int64_t first, int64_t channel, const uint16_t* const* pixels) {
        Tiles::pairs(pixels, channel, out + channel * plan_.y_step + first * kSide);
      });
    }
  }

  // Adds the products of some images, part after part.
  void add_group(Tiles& tiles, int64_t images, bool first, const uint16_t* x, const uint16_t* y, float* sums) const {
    const int64_t runs = plan_.runs(images), run_tiles = plan_.run_pixels(spec_, images) / kDepth,
                  part_tiles = kPartDepth / kDepth;
    const int64_t together = std::max<int64_t>(1, part_tiles / run_tiles);
    for (int64_t run = 0; run < runs; run += together) {
      for (int64_t tile = 0; tile < run_tiles; tile += part_tiles) {
        const Part part{std::min(together, runs - run),
                        std::min(part_tiles, run_tiles - tile),
                        plan_.rows * plan_.pitch,
                        run_tiles * kDepth,
                        plan_.x_step,
                        plan_.y_step,
                        first && run == 0 && tile == 0};
        add_part(tiles, part, x + run * part.x_run + tile * kDepth, y + (run * part.y_run + tile * kDepth) * kSide,
                 sums);
      }
    }
  }

  void add_part(Tiles& tiles, const Part& part, const uint16_t* x, const uint16_t* y, float* sums) const {
    const int64_t row = spec_.o * kSide;
    for (int64_t c = 0; c < spec_.c; c += 2 * kSide) {
      for (int64_t tap = 0; tap < layout_.taps; ++tap) {
        const uint16_t* inputs = x + tap_place(tap) + c * part.x_step;
        for (int64_t o = 0; o < spec_.o; o += 2 * kSide)
          add_products(tiles, spec_.c - c, spec_.o - o, part, inputs, y + o * part.y_step,
                       sums + layout_.tap_at[static_cast<size_t>(tap)] + c * spec_.o + o * kSide, row);
      }
    }
  }

  // Returns where the inputs that a tap meets begin, from the first element of the first plane.
  int64_t tap_place(int64_t tap) const {
    const auto& [rows, columns] = plan_.axis;
    const int64_t r = tap / spec_.kw, c = tap % spec_.kw;
    const int64_t plane = rows.plane(r) * columns.planes() + columns.plane(c);
    return plane * spec_.c * plan_.x_step + (rows.shift(r) - rows.least()) * plan_.pitch + columns.shift(c) -
           columns.least();
  }

  ConvSpec spec_;
  int64_t shards_;
  GradPlan plan_;
  WeightLayout layout_;
  ScratchLayout scratch_;
  size_t sums_ = 0, zeros_ = 0, own_ = 0, own_bytes_ = 0, x_ = 0, y_ = 0;  // x_ and y_ begin at the shard's own
};

bool is_covered(const ConvSpec& s) { return s.kind == ConvKind::weight_grad && fits_tiles(s); }

}  // namespace

std::unique_ptr<LibraryOp> plan_weight_grad(const ConvSpec& spec, int shards) {
  if (!is_covered(spec) || !available()) return nullptr;
  return std::make_unique<WeightGradOp<MachineTiles>>(spec, shards);
}

std::unique_ptr<LibraryOp> plan_weight_grad_by_loops(const ConvSpec& spec, int shards) {
  if (!is_covered(spec)) return nullptr;
  return std::make_unique<WeightGradOp<LoopTiles>>(spec, shards);
}

}  // namespace kb::amx
