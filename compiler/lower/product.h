// A Product computes a group's product of matrices (Group::product) tile by tile on the tensor cores of a GPU: a block
// goes through tiles of rows of one stretch of columns. Copies of the next parts of both matrices are under way while
// it multiplies, also from one tile to the next. A tile's result is left in block storage, where the thread loops
// behind it read their elements.
//
//   result (row, column) = sum over k of a (row, k) * b (k, column)
//
// Rows are the pixels of all samples; a is read by rows of `depth` elements, b by rows of `depth` (a row a column of
// the result: the filters of a convolution) or, transposed, of `columns` (its input's gradient).
#pragma once
#include "compiler/lower/context.h"
#include "compiler/lower/product_stages.h"

namespace kb {

class Product {
 public:
  // `columns`: those of a tile, a multiple of 16.
  Product(Context& context, int64_t columns);

  static constexpr int64_t kRows = 128;    // a tile has so many
  static constexpr int64_t kResident = 2;  // blocks for which a multiprocessor has registers and block storage

  // Declares the block storage. It is called once, outside loops.
  void declare();
  // Computes the tiles of `rows` rows from `first_row` on, in the columns from `first_column` on. The body gets a
  // tile's first row, counted from first_row, and its number of rows.
  void tiles(const Index& first_row, ir::Reg rows, const Index& first_column,
             const std::function<void(const Index&, ir::Reg)>& body);

 private:
  ir::Reg steps();  // parts of the depth that a tile is summed over
  int64_t tile_pitch() const { return columns_ + kProductPad; }
  void copy(ir::Reg number);
  ir::Reg value(const Indices& at);

  Context& cx_;
  ir::Builder& b_;
  Value result_, a_, b_value_;
  int64_t width_ = 0, depth_ = 0;  // columns of the whole product, elements of a sum
  bool transposed_ = false;        // b lies by rows of `columns`
  int64_t columns_;                // a tile has so many
  ProductParts parts_;
  ProductRing ring_a_, ring_b_;
  ir::Local tile_;
  // These describe the tiles that are being written.
  Index first_row_, first_column_, tile_row_;
  ir::Reg rows_left_ = ir::kNone;
};

}  // namespace kb
