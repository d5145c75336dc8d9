#include "compiler/lower/product.h"

namespace kb {

using ir::Reg;

namespace {

constexpr int64_t kDepth = 32;  // elements of the depth that a stage holds
constexpr int64_t kStages = 3;  // parts of both matrices in block storage: one at work, the others under way
constexpr int64_t kPad = 8;     // free elements behind a row: eight rows of an 8 x 8 matrix lie in different banks

}  // namespace

Product::Product(Context& context, int64_t columns)
    : cx_(context), b_(context.b), result_{context.group.product, 0}, columns_(columns) {
  const Node& node = cx_.graph.node(result_);
  a_ = node.inputs[0];
  b_value_ = node.inputs[1];
  transposed_ = node.op == Op::conv2d_input_grad;
  width_ = node.type().shape.back();
  depth_ = cx_.graph.type(a_).shape.back();
  cx_.product = [this](const Indices& at) { return value(at); };
}

void Product::declare() {
  const DType type = cx_.graph.type(a_).dtype;
  const auto ring = [&](int64_t rows, int64_t row) {
    const int64_t pitch = row + kPad, stage = rows * pitch;
    return Ring{b_.local(type, kStages * stage, ir::Storage::block), pitch, stage};
  };
  ring_a_ = ring(kRows, kDepth);
  ring_b_ = transposed_ ? ring(kDepth, columns_) : ring(columns_, kDepth);
  tile_pitch_ = columns_ + kPad;
  tile_ = b_.local(cx_.graph.type(result_).dtype, kRows * tile_pitch_, ir::Storage::block);
}

ir::Matrix Product::at_stage(const Ring& ring, Reg number, bool transposed) {
  const Reg stage = b_.mod(number, b_.index(kStages));
  return {ring.local, b_.mul(stage, b_.index(ring.stage)), ring.pitch, transposed};
}

// Extents are arguments, so that layers of all sizes share one text.
Reg Product::steps() { return cx_.argument("steps", (depth_ + kDepth - 1) / kDepth); }

// Copies part `number` of both matrices, counted over all tiles, into its stage.
void Product::copy(Reg number) {
  const Reg steps = this->steps(), row = b_.mul(b_.div(number, steps), b_.index(kRows));
  const Reg k = b_.mul(b_.mod(number, steps), b_.index(kDepth)), column = cx_.math.emit(first_column_);
  const Reg depth = cx_.argument("depth", depth_), width = cx_.argument("width", width_);
  const Reg depth_left = b_.sub(depth, k), columns_left = b_.sub(width, column);
  const Reg from = b_.mul_add(b_.add(cx_.math.emit(first_row_), row), depth, k);
  b_.tile_copy({.buffer = cx_.input_buffer(a_),
                .at = from,
                .pitch = depth,
                .valid_rows = b_.sub(rows_left_, row),
                .valid_columns = depth_left,
                .rows = kRows,
                .columns = kDepth},
               at_stage(ring_a_, number, false));
  ir::TileCopy filters{.buffer = cx_.input_buffer(b_value_)};
  if (transposed_)
    filters = {filters.buffer, b_.mul_add(k, width, column), width, depth_left, columns_left, kDepth, columns_};
  else
    filters = {filters.buffer, b_.mul_add(column, depth, k), depth, columns_left, depth_left, columns_, kDepth};
  b_.tile_copy(filters, at_stage(ring_b_, number, transposed_));
}

void Product::tiles(const Index& first_row, Reg rows, const Index& first_column,
                    const std::function<void(const Index&, Reg)>& body) {
  first_row_ = first_row, first_column_ = first_column, rows_left_ = rows;
  const Reg one = b_.index(1), zero = b_.index(0), height = b_.index(kRows), steps = this->steps();
  const Reg count = b_.div(b_.add(rows, b_.sub(height, one)), height), parts = b_.mul(count, steps);
  const auto begin_copy = [&](Reg number) {
    b_.branch(b_.less(number, parts), [&] { copy(number); });
    b_.tile_group();
  };
  for (int64_t ahead = 0; ahead < kStages - 1; ++ahead) begin_copy(b_.index(ahead));
  b_.loop(zero, count, 1, [&](Reg tile) {
    const ir::Local sums = b_.accumulators(kRows, columns_);
    b_.loop(zero, steps, 1, [&](Reg step) {
      const Reg number = b_.mul_add(tile, steps, step);
      // The wait is also the barrier before the copy into the stage that was multiplied last.
      b_.tile_wait(kStages - 2);
      begin_copy(b_.add(number, b_.index(kStages - 1)));
      b_.tile_mma(sums, at_stage(ring_a_, number, false), at_stage(ring_b_, number, transposed_), kDepth);
    });
    b_.tile_store(sums, {tile_, zero, tile_pitch_});
    b_.barrier();
    tile_row_ = cx_.math.of(b_.mul(tile, height), IndexMath::kUnbounded, kRows);
    body(tile_row_, b_.min(height, b_.sub(rows, cx_.math.emit(tile_row_))));
  });
}

// Returns an element of the tile in block storage.
Reg Product::value(const Indices& at) {
  const Index row = cx_.math.flatten({at.begin(), at.end() - 1},
                                     {cx_.graph.type(result_).shape.begin(), cx_.graph.type(result_).shape.end() - 1});
  const auto minus = [&](const Index& x, const Index& y) { return cx_.math.add(x, cx_.math.scale(y, -1)); };
  const Index own_row = minus(minus(row, first_row_), tile_row_), own_column = minus(at.back(), first_column_);
  const Place place = cx_.math.place(cx_.math.add(cx_.math.scale(own_row, tile_pitch_), own_column));
  const Reg element = b_.local_load(tile_, place.at, place.access, place.aligned);
  return b_.convert(register_type(tile_.type), element);
}

}  // namespace kb
