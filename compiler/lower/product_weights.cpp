// The gradient of a convolution's filters on a GPU, where it is a product of matrices: result (o, c) = sum over all
// pixels p of dy (p, o) * x (p, c). A block sums one tile of filters over a fixed range of pixels, in f32. Among the
// blocks of a tile, the last to finish adds up what all have left, in the order of their pixels: so every run gives the
// same bits.
#include <algorithm>

#include "compiler/lower/classes.h"
#include "compiler/lower/emit.h"
#include "compiler/lower/expression.h"
#include "compiler/lower/product.h"
#include "graph/rounding.h"

namespace kb {

using ir::Reg;

namespace {

constexpr int64_t kTallestTile = 128, kWidestTile = 64;  // rows and columns, at most
constexpr int64_t kTileUnit = 16;                        // rows and columns of a tile are multiples of it
constexpr int32_t kAtOnce = 4;                           // partial sums that a thread of the last block has under way

class WeightProduct {
 public:
  WeightProduct(const Graph& graph, const Group& group, const Target& target)
      : cx_(graph, group, target, "product_weights"), b_(cx_.b), expression_(cx_) {
    const Node& node = graph.node(group.product);
    x_ = node.inputs[0], dy_ = node.inputs[1], type_ = node.type().dtype;
    width_ = graph.type(x_).shape.back(), height_ = graph.type(dy_).shape.back();
    pixels_ = graph.type(x_).elements() / width_;
    columns_ = std::min(round_up(width_, kTileUnit), kWidestTile);
    // Eight warps share the tile, each with a multiple of 16 x 16; two warpgroups share it by rows, or by columns.
    rows_ = height_ <= kTallestTile / 2 && columns_ % (2 * kTileUnit) == 0 ? kTallestTile / 2 : kTallestTile;
    parts_ = parts_of(target, group.by_warpgroups, columns_);
    across_ = ceil_div(width_, columns_);
    tiles_ = across_ * ceil_div(height_, rows_);
    const int64_t most = std::max<int64_t>(Product::kResident * target.processors / tiles_, 1);
    share_ = round_up(ceil_div(pixels_, most), parts_.depth);
    shares_ = ceil_div(pixels_, share_);
    cx_.product = [this](const Indices&) { return sum_; };
  }

  Lowered lower() {
    partials_ = cx_.add_scratch(DType::f32, shares_ * tiles_ * rows_ * columns_);
    const int32_t counter = cx_.add_scratch(DType::u32, tiles_);
    cx_.add_phase(shares_ * tiles_, true, [&](const Index& tile) {
      const Reg number = cx_.math.emit(tile), tiles = cx_.argument("tiles", tiles_);
      const Reg own = b_.mod(number, tiles), across = cx_.argument("across", across_);
      first_row_ = b_.mul(b_.div(own, across), b_.index(rows_));
      first_column_ = b_.mul(b_.mod(own, across), b_.index(columns_));
      multiply(b_.div(number, tiles));
      store_partials(number);
      b_.last_block(counter, own, cx_.argument("shares", shares_), [&] { merge(own, tiles); });
    });
    Lowered lowered = cx_.finish();
    lowered.kernel.resident = Product::kResident;
    return lowered;
  }

 private:
  // ---- the sums of a block ----

  void multiply(Reg share) {
    const Reg size = cx_.argument("share", share_), first = b_.mul(share, size);
    const Reg count = b_.min(size, b_.sub(cx_.argument("pixels", pixels_), first));
    const DType type = cx_.graph.type(x_).dtype;
    if (cx_.group.by_warpgroups) b_.use_warpgroups();
    const int64_t sharing = ir::warp_grid(rows_, columns_, cx_.target.block_threads, cx_.group.by_warpgroups).across;
    const auto ring_dy = ProductRing::transposed(b_, type, rows_, parts_, ir::kWarpgroupRows);
    const auto ring_x = ProductRing::transposed(b_, type, columns_, parts_, columns_ / sharing);
    tile_ = b_.local(DType::f32, rows_ * tile_pitch(), ir::Storage::block);
    const auto copy = [&](Reg part) {
      const Reg pixel = b_.mul(part, b_.index(parts_.depth));
      copy_from(dy_, "height", height_, first_row_, b_.add(first, pixel), b_.sub(count, pixel), ring_dy.at(b_, part));
      copy_from(x_, "width", width_, first_column_, b_.add(first, pixel), b_.sub(count, pixel), ring_x.at(b_, part));
    };
    const Reg depth = b_.index(parts_.depth), parts = b_.div(b_.add(count, b_.sub(depth, b_.index(1))), depth);
    const ir::Local sums = b_.accumulators(rows_, columns_);
    ProductCopies copies(b_, parts_.stages, parts, copy);
    b_.loop(b_.index(0), parts, 1, [&](Reg part) {
      copies.wait_for(part);
      b_.tile_mma(sums, ring_dy.at(b_, part), ring_x.at(b_, part));
    });
    b_.tile_store(sums, tile_, tile_pitch());
    b_.barrier();
  }

  // Copies the rows of some pixels, from one column on.
  void copy_from(Value from, const char* name, int64_t extent, Reg column, Reg pixel, Reg left, const ir::Matrix& to) {
    const Reg pitch = cx_.argument(name, extent);
    b_.tile_copy({.buffer = cx_.input_buffer(from),
                  .at = b_.mul_add(pixel, pitch, column),
                  .pitch = pitch,
                  .valid_rows = left,
                  .valid_columns = b_.sub(pitch, column)},
                 to);
  }

  int64_t tile_pitch() const { return columns_ + kProductPad; }

  // Writes body for a thread's vectors of the tile. It gets a row and a column of the tile.
  void each_vector(const std::function<void(const Index&, const Index&)>& body) {
    const int64_t lanes = b_.lanes(), vectors = rows_ * columns_ / lanes;
    cx_.shared(cx_.literal(vectors), vectors, [&](const Index& vector) {
      cx_.one_vector(cx_.literal(lanes), cx_.math.scale(vector, lanes),
                     [&](const Index& at) { body(cx_.math.div(at, columns_), cx_.math.mod(at, columns_)); });
    });
  }

  Index partial_position(Reg tile, const Index& row, const Index& column) {
    const Index begin = cx_.math.of(b_.mul(tile, b_.index(rows_ * columns_)), IndexMath::kUnbounded, kTileUnit);
    return cx_.math.add(begin, cx_.math.add(cx_.math.scale(row, columns_), column));
  }

  void store_partials(Reg tile) {
    each_vector([&](const Index& row, const Index& column) {
      const Place place = cx_.math.place(cx_.math.add(cx_.math.scale(row, tile_pitch()), column));
      cx_.store(partials_, partial_position(tile, row, column),
                b_.local_load(tile_, place.at, place.access, place.aligned), false);
    });
  }

  // ---- the last block of a tile ----

  void merge(Reg own, Reg tiles) {
    each_vector([&](const Index& row, const Index& column) {
      const Reg zero = b_.index(0);
      const ir::Local total = b_.local(DType::f32, b_.lanes());
      b_.local_store(total, zero, ir::Access::contiguous, b_.constant(DType::f32, 0), true);
      const auto add = [&](Reg share) {
        const Reg term = cx_.load(partials_, partial_position(b_.mul_add(share, tiles, own), row, column));
        const Reg before = b_.local_load(total, zero, ir::Access::contiguous, true);
        b_.local_store(total, zero, ir::Access::contiguous, b_.compute(Op::add, before, term), true);
      };
      b_.loop(zero, cx_.argument("shares", shares_), 1, add, kAtOnce);
      sum_ = emit_cast(b_, type_, b_.local_load(total, zero, ir::Access::contiguous, true));
      store(cx_.math.add(cx_.math.of(first_row_), row), cx_.math.add(cx_.math.of(first_column_), column));
    });
  }

  void store(const Index& row, const Index& column) {
    const auto outputs = [&] {
      std::vector<std::pair<Value, Indices>> values;
      for (const Value v : cx_.group.outputs) {
        Indices at(cx_.graph.type(v).shape.size());
        at.front() = row, at.back() = column;
        values.emplace_back(v, at);
      }
      expression_.store(values);
    };
    cx_.b.branch(b_.less(cx_.math.emit(row), b_.index(height_)),
                 [&] { cx_.b.branch(b_.less(cx_.math.place(column).at, b_.index(width_)), outputs); });
  }

  Context cx_;
  ir::Builder& b_;
  Expression expression_;
  Value x_, dy_;
  DType type_ = DType::f32;  // of the result, to which the last block rounds for all readers
  int64_t width_ = 0, height_ = 0, pixels_ = 0;
  int64_t rows_ = 0, columns_ = 0, across_ = 0, tiles_ = 0;
  ProductParts parts_;              // those of the pixels
  int64_t share_ = 0, shares_ = 0;  // pixels of a block; blocks of a tile
  int32_t partials_ = -1;
  ir::Local tile_;
  Reg first_row_ = ir::kNone, first_column_ = ir::kNone, sum_ = ir::kNone;
};

}  // namespace

Lowered lower_product_weights(const Graph& graph, const Group& group, const Target& target) {
  return WeightProduct(graph, group, target).lower();
}

}  // namespace kb
