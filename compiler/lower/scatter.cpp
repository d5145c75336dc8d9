// Lowers scatter_add. The sorted positions of the updates (index_order) are cut into ranges of equal length, one a
// tile, so that no tile has more updates than the others however many have one index. A tile adds up the updates of
// each row in index order and writes the sum to the table. A row that neighbours share is different: each of its tiles
// writes a piece, its part of the sum, to scratch memory, and the pieces are added in the order of the ranges: on a CPU
// in a second phase, by the tile of the first range; on a GPU by the row's last block to finish. More tiles clear the
// rows without updates.
//
// On a GPU each thread of a block owns some columns, and has several updates under way at once.
#include <algorithm>

#include "compiler/lower/classes.h"
#include "compiler/lower/expression.h"
#include "graph/index_order.h"
#include "graph/rounding.h"

namespace kb {
namespace {

using ir::Reg;

constexpr int64_t kUnderWay = 4;       // updates that a thread of a GPU has under way
constexpr int64_t kStretch = 1024;     // most columns that a tile of a CPU adds up at once
constexpr int64_t kPiecesOfRange = 2;  // of the row that begins before the range, and of that which ends after it

class Scatter {
 public:
  Scatter(const Graph& graph, const Group& group, const Target& target)
      : cx_(graph, group, target, "scatter"), expression_(cx_), node_(graph.node(group.outputs.at(0))) {
    ensure(node_.op == Op::scatter_add && group.outputs.size() == 1, "a scatter group is one scatter_add");
    const Type& type = node_.type();
    rows_ = type.shape[0];
    columns_ = type.elements() / std::max<int64_t>(rows_, 1);
    updates_ = graph.type(node_.inputs[0]).elements();
    length_ = scatter_range(updates_);
    ranges_ = ceil_div(updates_, length_);
    held_ = arithmetic_dtype(type.dtype);
    pieces_ = cx_.add_scratch(held_, kPiecesOfRange * ranges_ * columns_);
    cx_.prefetches = false;
    if (!is_cpu()) arrived_ = cx_.add_scratch(DType::u32, ranges_);
  }

  Lowered lower() {
    const int64_t per_tile = std::max<int64_t>(cx_.target.tile_elements / columns_, 1);
    const int64_t clearing = ceil_div(rows_, per_tile);
    cx_.add_phase(ranges_ + clearing, true, [&](const Index& tile) {
      const Reg number = cx_.math.emit(tile), ranges = cx_.argument("ranges", ranges_);
      cx_.b.branch(cx_.b.less(number, ranges), [&] {
        const Range range = range_of(number);
        each_stretch([&] { add_range(range); });
        if (!is_cpu()) merge_arrived(range);
      });
      cx_.b.branch(cx_.b.less(cx_.b.sub(ranges, cx_.b.index(1)), number), [&] {
        const Index begin = cx_.math.scale(cx_.math.of(cx_.b.sub(number, ranges), clearing - 1), per_tile);
        clear_rows(begin, cx_.least(per_tile, cx_.literal(rows_), begin), per_tile);
      });
    });
    if (is_cpu())
      cx_.add_phase(ranges_, true, [&](const Index& tile) {
        const Range range = range_of(cx_.math.emit(tile));
        with_row_after(range, [&](const Row& row) { each_stretch([&] { merge(row); }); });
      });
    return cx_.finish();
  }

 private:
  struct Range {
    Reg number, begin, end;  // in the sorted positions
    Reg valid;               // end of those whose index lies in the table
  };
  struct Row {
    Reg number, begin, end;
  };

  bool is_cpu() const { return cx_.target.processor == Processor::cpu; }
  Reg both(Reg a, Reg b) { return cx_.b.compute(Op::bit_and, a, b); }
  Reg negated(Reg a) { return cx_.b.compute(Op::logical_not, a); }
  Reg next(Reg number) { return cx_.b.add(number, cx_.b.index(1)); }
  Reg before(Reg number) { return cx_.b.sub(number, cx_.b.index(1)); }
  Reg length() { return cx_.argument("length", length_); }

  // ---- the order of the indices ----

  Reg element(size_t input, Reg at) {
    return cx_.b.convert(DType::i64, expression_.value_at(node_.inputs[input], cx_.math.of(at)));
  }
  Reg start(Reg row) { return element(3, row); }

  Range range_of(Reg number) {
    const Reg begin = cx_.b.mul(number, length());
    return {number, begin, cx_.b.min(cx_.b.add(begin, length()), cx_.argument("updates", updates_)),
            start(cx_.argument("rows", rows_))};
  }

  // Returns the row of an update by its place in the order.
  Row row_at(Reg place) {
    const Reg number = element(0, element(2, place));
    return {number, start(number), start(next(number))};
  }

  // Writes body for the row that begins before the range, or for one that ends after it, if there is one. A row that
  // does both is the first.
  using RowBody = std::function<void(const Row&)>;
  void with_row_before(const Range& range, const RowBody& body) {
    cx_.b.branch(cx_.b.less(range.begin, range.valid), [&] {
      const Row row = row_at(range.begin);
      cx_.b.branch(cx_.b.less(row.begin, range.begin), [&] { body(row); });
    });
  }
  void with_row_after(const Range& range, const RowBody& body) {
    cx_.b.branch(cx_.b.less(range.end, range.valid), [&] {
      const Row row = row_at(before(range.end));
      cx_.b.branch(both(cx_.b.less(before(range.begin), row.begin), cx_.b.less(range.end, row.end)),
                   [&] { body(row); });
    });
  }

  // ---- columns ----

  // The columns that one thread adds up at once, and an accumulator for each of them.
  struct Stretch {
    Index begin;
    Extent count;
    ir::Local sums;
  };

  // Writes body for stretches that together have all columns: of a CPU's tile, or of the thread of a GPU's block.
  void each_stretch(const std::function<void()>& body) {
    const int64_t lanes = cx_.b.lanes(), threads = cx_.target.block_threads;
    const auto with = [&](const Index& begin, const Extent& count, int64_t most) {
      stretch_ = {begin, count, cx_.b.local(held_, round_up(most, lanes))};
      body();
    };
    const Extent all = cx_.literal(columns_);
    if (is_cpu()) {
      const int64_t most = std::min(columns_, kStretch);
      return cx_.blocks(all, most, [&](const Index& begin, const Extent& count) { with(begin, count, most); });
    }
    const int64_t vectors = ceil_div(columns_, lanes);
    cx_.b.threads([&](Reg number) {
      cx_.rounds_of_thread(cx_.literal(vectors), vectors, cx_.math.of(number, threads - 1), threads,
                           [&](const Index& vector) {
                             const Index begin = cx_.math.scale(vector, lanes);
                             with(begin, cx_.least(lanes, all, begin), lanes);
                           });
    });
  }

  // Writes body for each column of the stretch; it gets the column and the place of its accumulator.
  void each_column(const std::function<void(const Index& column, const Place& sum)>& body) {
    const auto one = [&](const Index& at) { body(cx_.math.add(stretch_.begin, at), cx_.math.place(at)); };
    is_cpu() ? cx_.vectors(stretch_.count, one) : cx_.one_vector(stretch_.count, Index{}, one);
  }

  Reg sum_at(const Place& place) { return cx_.b.local_load(stretch_.sums, place.at, place.access, place.aligned); }
  void set_sum(const Place& place, Reg value) {
    cx_.b.local_store(stretch_.sums, place.at, place.access, value, place.aligned);
  }

  Index position(Reg row, const Index& column) {
    return cx_.math.add(cx_.math.scale(cx_.math.of(row), columns_), column);
  }
  Reg piece_of(Reg range, Reg which) { return cx_.b.mul_add(range, cx_.b.index(kPiecesOfRange), which); }
  Reg load_piece(Reg piece, const Index& column) { return cx_.load(pieces_, position(piece, column)); }
  void store_row(Reg row, const Index& column, Reg value) {
    cx_.store_output(cx_.group.outputs[0], position(row, column), value);
  }

  // ---- sums ----

  void add_range(const Range& range) {
    each_column([&](const Index&, const Place& at) { set_sum(at, cx_.b.constant(held_, 0)); });
    const Reg end = cx_.b.min(range.end, range.valid);
    if (updates_ == 1) return add_single(range, end);
    if (is_cpu()) return cx_.b.loop(range.begin, end, 1, [&](Reg place) { add_update(range, place); });
    const Reg at_once = cx_.b.index(kUnderWay), count = cx_.b.max(cx_.b.sub(end, range.begin), cx_.b.index(0));
    const Reg whole = cx_.b.div(count, at_once), rest = cx_.b.mul_add(whole, at_once, range.begin);
    cx_.b.loop(cx_.b.index(0), whole, 1,
               [&](Reg part) { add_updates(range, cx_.b.mul_add(part, at_once, range.begin), kUnderWay); });
    cx_.b.loop(rest, end, 1, [&](Reg place) { add_updates(range, place, 1); });
  }

  // Adds the only update. A loop would leave the reading of its row to the code before it, where an index outside of
  // the table, which has no row, is not excluded yet.
  void add_single(const Range& range, Reg end) {
    cx_.b.branch(cx_.b.less(range.begin, end),
                 [&] { is_cpu() ? add_update(range, range.begin) : add_updates(range, range.begin, 1); });
  }

  // An update on its way to the sum of its row.
  struct Update {
    Reg position;
    Row row;
    Reg continues;             // whether the row has an earlier update in the range
    Reg goes_on;               // whether it has a later one there
    Reg ends_row, ends_piece;  // whether it is the last one of the whole row, or of a shared row's piece
    Reg piece;
  };

  Update update_at(const Range& range, Reg place) {
    const Row row = row_at(place);
    const Reg begins_before = cx_.b.less(row.begin, range.begin), ends_after = cx_.b.less(range.end, row.end);
    const Reg is_shared = cx_.b.compute(Op::bit_or, begins_before, ends_after);
    const Reg goes_on = cx_.b.less(next(place), cx_.b.min(row.end, range.end)), is_last = negated(goes_on);
    const Reg which = cx_.b.compute(Op::select, begins_before, cx_.b.index(0), cx_.b.index(1));
    return {element(2, place),
            row,
            cx_.b.less(cx_.b.max(row.begin, range.begin), place),
            goes_on,
            both(is_last, negated(is_shared)),
            both(is_last, is_shared),
            piece_of(range.number, which)};
  }

  // Returns the sum of the row's updates in the range up to this one, whose element is `value`.
  Reg sum_with(const Update& update, Reg sum, Reg value) {
    return cx_.b.compute(Op::add, cx_.b.compute(Op::select, update.continues, sum, cx_.b.constant(held_, 0)), value);
  }
  Reg value_of(const Update& update, const Index& column) {
    return expression_.value_at(node_.inputs[1], position(update.position, column));
  }
  void store_piece(const Update& update, const Index& column, Reg sum) {
    cx_.store(pieces_, position(update.piece, column), sum, false);
  }

  // Adds one update: a loop over the columns for each place that the sum may go to.
  void add_update(const Range& range, Reg place) {
    const Update update = update_at(range, place);
    const auto where = [&](Reg holds, const std::function<void(const Index&, const Place&, Reg)>& keep) {
      cx_.b.branch(holds, [&] {
        each_column([&](const Index& column, const Place& at) {
          keep(column, at, sum_with(update, sum_at(at), value_of(update, column)));
        });
      });
    };
    where(update.goes_on, [&](const Index&, const Place& at, Reg sum) { set_sum(at, sum); });
    where(update.ends_row,
          [&](const Index& column, const Place&, Reg sum) { store_row(update.row.number, column, sum); });
    where(update.ends_piece, [&](const Index& column, const Place&, Reg sum) { store_piece(update, column, sum); });
  }

  // Adds `count` updates from `place` on, one after the other, when all of them are loaded.
  void add_updates(const Range& range, Reg place, int64_t count) {
    std::vector<Update> updates;
    for (int64_t i = 0; i < count; ++i) updates.push_back(update_at(range, cx_.b.add(place, cx_.b.index(i))));
    each_column([&](const Index& column, const Place& at) {
      std::vector<Reg> values;
      for (const Update& update : updates) values.push_back(value_of(update, column));
      Reg sum = sum_at(at);
      for (size_t i = 0; i < updates.size(); ++i) {
        const Update& update = updates[i];
        sum = sum_with(update, sum, values[i]);
        cx_.b.branch(update.ends_row, [&] { store_row(update.row.number, column, sum); });
        cx_.b.branch(update.ends_piece, [&] { store_piece(update, column, sum); });
      }
      set_sum(at, sum);
    });
  }

  // Adds the pieces of a row that begins in the range `first` and ends in `last`, and stores the sum.
  void merge(const Row& row) {
    const Reg first = cx_.b.div(row.begin, length()), last = cx_.b.div(before(row.end), length());
    each_column([&](const Index& column, const Place& at) {
      set_sum(at, load_piece(piece_of(first, cx_.b.index(1)), column));
    });
    cx_.b.loop(next(first), next(last), 1, [&](Reg range) {
      each_column([&](const Index& column, const Place& at) {
        const Reg piece = load_piece(piece_of(range, cx_.b.index(0)), column);
        set_sum(at, cx_.b.compute(Op::add, sum_at(at), piece));
      });
    });
    each_column([&](const Index& column, const Place& at) { store_row(row.number, column, sum_at(at)); });
  }

  // The blocks of a shared row count at the number of its first range.
  void merge_arrived(const Range& range) {
    const RowBody arrive = [&](const Row& row) {
      const Reg first = cx_.b.div(row.begin, length()), last = cx_.b.div(before(row.end), length());
      cx_.b.last_block(arrived_, first, next(cx_.b.sub(last, first)), [&] { each_stretch([&] { merge(row); }); });
    };
    with_row_before(range, arrive);
    with_row_after(range, arrive);
  }

  // ---- rows without updates ----

  void clear_rows(const Index& begin, const Extent& count, int64_t most) {
    const auto if_empty = [&](const Index& at, const std::function<void(Reg)>& body) {
      const Reg row = cx_.math.emit(cx_.math.add(begin, at));
      cx_.b.branch(negated(cx_.b.less(start(row), start(next(row)))), [&] { body(row); });
    };
    const auto clear = [&](Reg row) {
      return [this, row](const Index& column) { store_row(row, column, cx_.b.constant(held_, 0)); };
    };
    if (is_cpu())
      return cx_.serial(count, [&](const Index& at) {
        if_empty(at, [&](Reg row) { cx_.vectors(cx_.literal(columns_), clear(row)); });
      });
    const int64_t lanes = cx_.b.lanes(), vectors = ceil_div(columns_, lanes);
    const Extent all{0, cx_.b.mul(cx_.reg(count), cx_.b.index(vectors)), 1};
    cx_.shared(all, most * vectors, [&](const Index& own) {
      const Indices at = cx_.math.unflatten(own, {most, vectors});
      const Index first = cx_.math.scale(at[1], lanes);
      if_empty(at[0],
               [&](Reg row) { cx_.one_vector(cx_.least(lanes, cx_.literal(columns_), first), first, clear(row)); });
    });
  }

  Context cx_;
  Expression expression_;
  const Node& node_;
  int64_t rows_ = 0, columns_ = 1, updates_ = 0;
  int64_t length_ = 1, ranges_ = 0;  // of the ranges: updates of each, and their number
  DType held_;
  int32_t pieces_ = -1, arrived_ = -1;
  Stretch stretch_;
};

}  // namespace

Lowered lower_scatter(const Graph& graph, const Group& group, const Target& target) {
  return Scatter(graph, group, target).lower();
}

}  // namespace kb
