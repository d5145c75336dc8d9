// A product of matrices on a GPU whose result, and what is computed from its elements, is written without sums over it.
// Blocks share the rows evenly; neighbours have the same rows and different columns, so that rows are read from the
// cache again.
#include <algorithm>

#include "compiler/lower/classes.h"
#include "compiler/lower/expression.h"
#include "compiler/lower/product.h"
#include "graph/rounding.h"

namespace kb {

using ir::Reg;

namespace {

constexpr int64_t kMostColumns = 128;  // a tile has no more

class PointwiseProduct {
 public:
  PointwiseProduct(const Graph& graph, const Group& group, const Target& target)
      : cx_(graph, group, target, "product"),
        expression_(cx_),
        width_(group.domain.back()),
        rows_(element_count(group.domain) / width_),
        columns_(std::min(std::max(kTile, round_up(width_, kTile)), kMostColumns)),
        product_(cx_, columns_) {}

  Lowered lower() {
    const int64_t stretches = ceil_div(width_, columns_);
    const int64_t most = std::max<int64_t>(Product::kResident * cx_.target.processors / stretches, 1);
    const int64_t share = round_up(ceil_div(rows_, most), Product::kRows), blocks = ceil_div(rows_, share);
    cx_.add_phase(blocks * stretches, true, [&](const Index& tile) {
      const Reg number = cx_.math.emit(tile), across = cx_.argument("stretches", stretches);
      const Index column = cx_.math.scale(cx_.math.of(cx_.b.mod(number, across), stretches - 1), columns_);
      const Reg size = cx_.argument("share", share), first = cx_.b.mul(cx_.b.div(number, across), size);
      const Reg rows = cx_.b.min(size, cx_.b.sub(cx_.argument("rows", rows_), first));
      const Index first_row = cx_.math.of(first);
      product_.declare();
      product_.tiles(first_row, rows, column, [&](const Index& row, Reg valid) {
        cx_.b.threads([&](Reg thread) {
          store_tile(cx_.math.of(thread, cx_.target.block_threads - 1), cx_.math.add(first_row, row), column, valid);
        });
      });
    });
    Lowered lowered = cx_.finish();
    lowered.kernel.resident = Product::kResident;
    return lowered;
  }

 private:
  static constexpr int64_t kTile = 16;  // columns of a tile are a multiple of it

  // Writes a thread's part of a tile: every so many rows one vector of columns.
  void store_tile(const Index& thread, const Index& first_row, const Index& first_column, Reg valid) {
    const int64_t lanes = cx_.b.lanes(), vectors = columns_ / lanes, groups = cx_.target.block_threads / vectors;
    const Index first = cx_.math.add(first_column, cx_.math.scale(cx_.math.mod(thread, vectors), lanes));
    const auto vector = [&] {
      cx_.one_vector(cx_.least(lanes, cx_.literal(width_), first), first, [&](const Index& column) {
        cx_.math.promise(column, width_ - 1);
        cx_.rounds_of_thread({Product::kRows, valid, 1}, IndexMath::kUnbounded, cx_.math.div(thread, vectors), groups,
                             [&](const Index& row) { store(cx_.math.add(first_row, row), column); });
      });
    };
    const Index row_thread = cx_.math.div(thread, vectors);
    cx_.b.branch(cx_.b.less(cx_.math.emit(row_thread), cx_.b.index(groups)), [&] {
      if (width_ % columns_ == 0) return vector();
      cx_.b.branch(cx_.b.less(cx_.math.emit(first), cx_.b.index(width_)), vector);
    });
  }

  void store(const Index& row, const Index& column) {
    Indices at = cx_.math.unflatten(row, {cx_.group.domain.begin(), cx_.group.domain.end() - 1});
    at.push_back(column);
    expression_.store(cx_.group.outputs, at);
  }

  Context cx_;
  Expression expression_;
  int64_t width_, rows_, columns_;
  Product product_;
};

}  // namespace

Lowered lower_product(const Graph& graph, const Group& group, const Target& target) {
  return PointwiseProduct(graph, group, target).lower();
}

}  // namespace kb
