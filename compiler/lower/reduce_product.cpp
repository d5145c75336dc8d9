// A reduction over the columns of a product, whose elements lie in block storage tile by tile (product.h).
#include "compiler/lower/reduce_together.h"

namespace kb {

using ir::Reg;

// Steps over the tiles of a product. A thread has the same columns in every tile.
void ReduceTogether::sum_tiles(const Stage& stage, const Bank& own) {
  first_.resize(stage.monoids.size());
  for (size_t m = 0; m < first_.size(); ++m)
    if (stage.monoids[m].shifted()) first_[m] = cx_.b.local(stage.monoids[m].part_type(0), cx_.b.lanes());
  each_thread([&](const Index& thread) { own_columns(thread, [&] { initialise(own, stage, bank_place()); }); });
  Indices begins;
  Reg rows = cx_.b.index(1);
  for (size_t d = 0; d < inner(); ++d) {
    const Range covered = range(d, chunk_at_);
    begins.push_back(covered.begin);
    rows = cx_.b.mul(rows, cx_.reg(covered.count));
  }
  const Index first_row = cx_.math.scale(begins[0], reduced_in_index());
  product_->tiles(first_row, rows, stretch_begin_, [&](const Index& first, Reg valid) {
    each_thread(
        [&](const Index& thread) { own_columns(thread, [&] { sum_tile(stage, own, thread, begins, first, valid); }); });
  });
}

// Steps over a thread's part of a tile. The shifts of moments are the first row of the chunk.
void ReduceTogether::sum_tile(const Stage& stage, const Bank& own, const Index& thread, const Indices& begins,
                              const Index& first, Reg valid) {
  const auto set_row = [&](const Index& row) {
    const Indices at = cx_.math.unflatten(row, row_shape());
    for (size_t d = 0; d < inner(); ++d) at_[d] = cx_.math.add(begins[d], at[d]);
  };
  set_row(first);
  cx_.b.branch(cx_.b.less(cx_.math.emit(first), cx_.b.index(1)), [&] {
    for (size_t m = 0; m < stage.monoids.size(); ++m)
      if (stage.monoids[m].shifted())
        cx_.b.local_store(first_[m], bank_place().at, bank_place().access, element(stage.monoids[m], at_));
  });
  const std::vector<Reg> shifts = shifts_of(stage);
  cx_.rounds_of_thread({Product::kRows, valid, 1}, IndexMath::kUnbounded, cx_.math.div(thread, columns_), groups(),
                       [&](const Index& row) {
                         set_row(cx_.math.add(first, row));
                         accumulate(own, stage, bank_place(), at_, shifts);
                       });
}

Dims ReduceTogether::row_shape() const {
  Dims shape;
  for (size_t d = 0; d < inner(); ++d) shape.push_back(nest_.dims[d].extent);
  return shape;
}

// Returns the shifts of a stage's moments; those of a product were noted with its first tile.
std::vector<Reg> ReduceTogether::shifts_of(const Stage& stage) {
  if (!product_) return Reduce::shifts_of(stage);
  std::vector<Reg> shifts(stage.monoids.size(), ir::kNone);
  for (size_t m = 0; m < shifts.size(); ++m)
    if (stage.monoids[m].shifted()) shifts[m] = cx_.b.local_load(first_[m], bank_place().at, bank_place().access);
  return shifts;
}

}  // namespace kb
