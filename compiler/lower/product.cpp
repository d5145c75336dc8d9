#include "compiler/lower/product.h"

#include "graph/rounding.h"

namespace kb {

using ir::Reg;

Product::Product(Context& context, int64_t columns)
    : cx_(context),
      b_(context.b),
      result_{context.group.product, 0},
      columns_(columns),
      parts_(parts_of(context.target, context.group.by_warpgroups, columns)) {
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
  if (cx_.group.by_warpgroups) b_.use_warpgroups();
  ring_a_ = ProductRing(b_, type, kRows, parts_);
  ring_b_ = transposed_ ? ProductRing::transposed(b_, type, columns_, parts_, columns_)
                        : ProductRing(b_, type, columns_, parts_);
  tile_ = b_.local(cx_.graph.type(result_).dtype, kRows * tile_pitch(), ir::Storage::block);
}

// Extents are arguments, so that layers of all sizes share one text.
Reg Product::steps() { return cx_.argument("steps", ceil_div(depth_, parts_.depth)); }

// Copies part `number` of both matrices, counted over all tiles, into its stage.
void Product::copy(Reg number) {
  const Reg steps = this->steps(), row = b_.mul(b_.div(number, steps), b_.index(kRows));
  const Reg k = b_.mul(b_.mod(number, steps), b_.index(parts_.depth)), column = cx_.math.emit(first_column_);
  const Reg depth = cx_.argument("depth", depth_), width = cx_.argument("width", width_);
  const Reg depth_left = b_.sub(depth, k), columns_left = b_.sub(width, column);
  const Reg from = b_.mul_add(b_.add(cx_.math.emit(first_row_), row), depth, k);
  b_.tile_copy({.buffer = cx_.input_buffer(a_),
                .at = from,
                .pitch = depth,
                .valid_rows = b_.sub(rows_left_, row),
                .valid_columns = depth_left},
               ring_a_.at(b_, number));
  ir::TileCopy filters{.buffer = cx_.input_buffer(b_value_)};
  if (transposed_)
    filters = {filters.buffer, b_.mul_add(k, width, column), width, depth_left, columns_left};
  else
    filters = {filters.buffer, b_.mul_add(column, depth, k), depth, columns_left, depth_left};
  b_.tile_copy(filters, ring_b_.at(b_, number));
}

void Product::tiles(const Index& first_row, Reg rows, const Index& first_column,
                    const std::function<void(const Index&, Reg)>& body) {
  first_row_ = first_row, first_column_ = first_column, rows_left_ = rows;
  const Reg one = b_.index(1), zero = b_.index(0), height = b_.index(kRows), steps = this->steps();
  const Reg count = b_.div(b_.add(rows, b_.sub(height, one)), height), parts = b_.mul(count, steps);
  ProductCopies copies(b_, parts_.stages, parts, [this](Reg number) { copy(number); });
  b_.loop(zero, count, 1, [&](Reg tile) {
    const ir::Local sums = b_.accumulators(kRows, columns_);
    b_.loop(zero, steps, 1, [&](Reg step) {
      const Reg number = b_.mul_add(tile, steps, step);
      copies.wait_for(number);
      b_.tile_mma(sums, ring_a_.at(b_, number), ring_b_.at(b_, number));
    });
    b_.tile_store(sums, tile_, tile_pitch());
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
  const Place place = cx_.math.place(cx_.math.add(cx_.math.scale(own_row, tile_pitch()), own_column));
  const Reg element = b_.local_load(tile_, place.at, place.access, place.aligned);
  return b_.convert(arithmetic_dtype(tile_.type), element);
}

}  // namespace kb
