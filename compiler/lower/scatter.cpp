// Lowers scatter_add. A tile owns some rows of the table and scans all indices in their order, so that equal indices
// are added in index order without atomics. On a GPU each thread of the block owns some columns of those rows, and
// checks several indices at once for one of its tile's: most are not, and their loads are then under way together.
#include <algorithm>

#include "compiler/lower/classes.h"
#include "compiler/lower/expression.h"

namespace kb {
namespace {

using ir::Reg;

constexpr int64_t kAtOnce = 8;  // indices that are checked at once

class Scatter {
 public:
  Scatter(const Graph& graph, const Group& group, const Target& target)
      : cx_(graph, group, target, "scatter"), expression_(cx_), node_(graph.node(group.outputs.at(0))) {
    ensure(node_.op == Op::scatter_add && group.outputs.size() == 1, "a scatter group is one scatter_add");
    const Type& type = node_.type();
    rows_ = type.shape[0];
    columns_ = type.elements() / std::max<int64_t>(rows_, 1);
    held_ = register_type(type.dtype);
    table_ = held_ == type.dtype ? cx_.output_buffer(group.outputs[0]) : cx_.add_scratch(held_, type.elements());
  }

  Lowered lower() {
    const bool is_cpu = cx_.target.processor == Processor::cpu;
    const int64_t least = is_cpu ? std::max<int64_t>(cx_.target.tile_elements / columns_, 1) : 1;
    const int64_t per_tile = std::max((rows_ + cx_.target.max_partials - 1) / cx_.target.max_partials, least);
    cx_.add_phase((rows_ + per_tile - 1) / per_tile, false, [&](const Index& tile) {
      const Index begin = cx_.math.scale(tile, per_tile);
      const Extent count = cx_.least(per_tile, cx_.literal(rows_), begin);
      if (is_cpu)
        return lower_tile(begin, count, [&](const Context::Body& body) { cx_.vectors(cx_.literal(columns_), body); });
      cx_.b.threads([&](Reg thread) { own_columns(begin, count, cx_.math.of(thread, cx_.target.block_threads - 1)); });
    });
    return cx_.finish();
  }

 private:
  using Columns = std::function<void(const Context::Body&)>;

  // Lowers the tile of one thread, which owns vectors thread, thread + threads, ... of the columns.
  void own_columns(const Index& begin, const Extent& count, const Index& thread) {
    const int64_t lanes = cx_.b.lanes(), threads = cx_.target.block_threads;
    const int64_t vectors = (columns_ + lanes - 1) / lanes;
    lower_tile(begin, count, [&](const Context::Body& body) {
      cx_.serial(cx_.literal((vectors + threads - 1) / threads), [&](const Index& round) {
        const Index vector = cx_.math.add(cx_.math.scale(round, threads), thread);
        const Index first = cx_.math.scale(vector, lanes);
        cx_.b.branch(cx_.b.less(cx_.math.emit(vector), cx_.b.index(vectors)),
                     [&] { cx_.one_vector(cx_.least(lanes, cx_.literal(columns_), first), first, body); });
      });
    });
  }

  void lower_tile(const Index& begin, const Extent& count, const Columns& columns) {
    const Value indices = node_.inputs[0], updates = node_.inputs[1];
    const auto over_rows = [&](const std::function<void(const Index&)>& body) {
      cx_.serial(count, [&](const Index& row) {
        columns([&](const Index& column) {
          body(cx_.math.add(cx_.math.scale(cx_.math.add(begin, row), columns_), column));
        });
      });
    };
    over_rows([&](const Index& position) { cx_.store(table_, position, cx_.b.constant(held_, 0), false); });
    const auto row_of = [&](const Index& update) {
      return cx_.b.convert(DType::i64, expression_.value_at(indices, update));
    };
    const auto is_own = [&](Reg row) {
      const Reg first = cx_.math.emit(begin), end = cx_.b.add(first, cx_.reg(count));
      return cx_.b.compute(Op::bit_and, cx_.b.less(cx_.b.sub(first, cx_.b.index(1)), row), cx_.b.less(row, end));
    };
    each_update(cx_.argument("updates", cx_.graph.type(indices).elements()), is_own, row_of, [&](const Index& update) {
      const Reg row = row_of(update);
      cx_.b.branch(is_own(row), [&] {
        columns([&](const Index& column) {
          const Index to = cx_.math.add(cx_.math.scale(cx_.math.of(row, rows_ - 1), columns_), column);
          const Index from = cx_.math.add(cx_.math.scale(update, columns_), column);
          cx_.store(table_, to, cx_.b.compute(Op::add, cx_.load(table_, to), expression_.value_at(updates, from)),
                    false);
        });
      });
    });
    if (table_ == cx_.output_buffer(cx_.group.outputs[0])) return;
    over_rows(
        [&](const Index& position) { cx_.store_output(cx_.group.outputs[0], position, cx_.load(table_, position)); });
  }

  void each_update(Reg count, const std::function<Reg(Reg)>& is_own, const std::function<Reg(const Index&)>& row_of,
                   const Context::Body& add) {
    if (cx_.target.processor == Processor::cpu) return cx_.serial({0, count, 1}, add);
    const Reg size = cx_.b.index(kAtOnce), whole = cx_.b.div(count, size);
    cx_.serial({0, whole, 1}, [&](const Index& part) {
      const Index first = cx_.math.scale(part, kAtOnce);
      Reg any = is_own(row_of(first));
      for (int64_t i = 1; i < kAtOnce; ++i)
        any = cx_.b.compute(Op::bit_or, any, is_own(row_of(cx_.math.shift(first, i))));
      cx_.b.branch(any,
                   [&] { cx_.serial(cx_.literal(kAtOnce), [&](const Index& i) { add(cx_.math.add(first, i)); }); });
    });
    cx_.b.loop(cx_.b.mul(whole, size), count, 1, [&](Reg update) { add(cx_.math.of(update)); });
  }

  Context cx_;
  Expression expression_;
  const Node& node_;
  int64_t rows_ = 0, columns_ = 1;
  DType held_;
  int32_t table_;
};

}  // namespace

Lowered lower_scatter(const Graph& graph, const Group& group, const Target& target) {
  return Scatter(graph, group, target).lower();
}

}  // namespace kb
