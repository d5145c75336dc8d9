// Computes one element of a window op's result by loops over the window's taps, in place. Gradients gather from the
// windows that hold the element, so that no result depends on an order of writes.

#include <utility>

#include "compiler/lower/emit.h"
#include "compiler/lower/expression.h"

namespace kb {

using ir::Reg;

namespace {

constexpr int64_t kUnrolled = 4;  // most taps of an axis that are unrolled, with accumulators in registers

// The position that a tap of the window reads along one windowed axis: `index` where `holds` is true (kNone: always).
struct Reach {
  Index index;
  Reg holds = ir::kNone;
};

AxisWindow axis_window(const Attrs& attrs, size_t axis, int64_t from) {
  return {attrs.ints("kernel")[axis], attrs.ints("stride")[axis], attrs.ints("padding")[axis],
          attrs.ints("dilation")[axis], from};
}

}  // namespace

// Loops over the taps of both windowed axes and returns the last accumulators. `step` turns the accumulators before a
// tap into those after it; it gets the index vector that the tap reads, and the condition under which that is there.
std::vector<Reg> Expression::over_taps(const Node& node, const Indices& at, bool gradient,
                                       const std::vector<Reg>& initial, const TapStep& step) {
  const Ints& axes = node.attrs.ints("axes");
  const Dims& from = cx_.graph.type(node.inputs[0]).shape;
  const auto h = static_cast<size_t>(axes[0]), w = static_cast<size_t>(axes[1]);
  const AxisWindow rows = axis_window(node.attrs, 0, from[h]), columns = axis_window(node.attrs, 1, from[w]);
  const auto reach = [&](const AxisWindow& axis, const Index& position, const Index& tap) {
    Reach to;
    if (!gradient) {
      to.index =
          math_.add(math_.shift(math_.scale(position, axis.stride), -axis.padding), math_.scale(tap, axis.dilation));
      to.holds = inside(to.index, 0, axis.from);
      return to;
    }
    const Index padded = math_.shift(position, axis.padding);
    if (axis.dilation == 1) {
      to.index = math_.add(math_.div(padded, axis.stride), math_.scale(tap, -1));
      const Index within = math_.add(math_.mod(padded, axis.stride), math_.scale(tap, axis.stride));
      to.holds = both(inside(to.index, 0, axis.from), inside(within, 0, axis.kernel));
      return to;
    }
    const Index start = math_.add(padded, math_.scale(tap, -axis.dilation));
    to.index = math_.div(start, axis.stride);
    to.holds = both(inside(start, 0, axis.from * axis.stride), inside(math_.mod(start, axis.stride), 0, 1));
    return to;
  };
  return loop_values(gradient ? rows.gradient_taps() : rows.kernel, initial, [&](const Index& i, const auto& outer) {
    const Reach row = reach(rows, at[h], i);
    return loop_values(gradient ? columns.gradient_taps() : columns.kernel, outer,
                       [&](const Index& j, const auto& inner) {
                         const Reach column = reach(columns, at[w], j);
                         Indices read = at;
                         read[h] = row.index;
                         read[w] = column.index;
                         return step(inner, read, both(row.holds, column.holds));
                       });
  });
}

// Returns the values that a serial loop carries from round to round; inside a lane loop each lane has its own.
std::vector<Reg> Expression::loop_values(
    int64_t rounds, const std::vector<Reg>& initial,
    const std::function<std::vector<Reg>(const Index&, const std::vector<Reg>&)>& body) {
  if (rounds <= kUnrolled) {
    std::vector<Reg> values = initial;
    for (int64_t i = 0; i < rounds; ++i) values = body(IndexMath::literal(i), values);
    return values;
  }
  const ir::Access access = b_.in_lanes() ? ir::Access::contiguous : ir::Access::uniform;
  std::vector<ir::Local> locals;
  const Reg zero = b_.index(0);
  const auto load = [&] {
    std::vector<Reg> values;
    for (const ir::Local& local : locals) values.push_back(b_.local_load(local, zero, access));
    return values;
  };
  const auto store = [&](const std::vector<Reg>& values) {
    for (size_t i = 0; i < locals.size(); ++i) b_.local_store(locals[i], zero, access, values[i]);
  };
  for (const Reg value : initial) locals.push_back(b_.local(b_.type(value), b_.lanes()));
  store(initial);
  cx_.serial(cx_.literal(rounds), [&](const Index& i) { store(body(i, load())); });
  return load();
}

Reg Expression::window(Value v, const Indices& at) {
  const Node& node = cx_.graph.node(v);
  switch (node.op) {
    case Op::max_pool:
      return max_pool(v, at);
    case Op::take_at_index: {
      const Ints& axes = node.attrs.ints("axes");
      const Dims& from = cx_.graph.type(node.inputs[0]).shape;
      const auto h = static_cast<size_t>(axes[0]), w = static_cast<size_t>(axes[1]);
      const Checked taken = checked(node, 1, at, from[h] * from[w]);
      Indices read = at;
      read[h] = math_.div(taken.index, from[w]);
      read[w] = math_.mod(taken.index, from[w]);
      return where_checked(taken.holds, value(node.inputs[0], read), node.type().dtype);
    }
    default:
      break;
  }
  const DType dtype = node.type().dtype;
  const Reg zero = emit_number(b_, dtype, 0);
  const bool gradient = node.op != Op::sum_pool;
  const Ints& axes = node.attrs.ints("axes");
  const int64_t width = node.type().shape[static_cast<size_t>(axes[1])];
  const Index own = math_.add(math_.scale(at[static_cast<size_t>(axes[0])], width), at[static_cast<size_t>(axes[1])]);
  const auto sum = over_taps(node, at, gradient, {zero}, [&](const auto& before, const Indices& read, Reg holds) {
    Reg term = guarded(holds, node.inputs[0], read, zero);
    if (node.op == Op::max_pool_grad) {
      const Reg taken = guarded(holds, node.inputs[1], read, b_.constant(DType::i32, -1));
      term = b_.compute(Op::select, b_.compute(Op::eq, taken, number(own, DType::i32)), term, zero);
    }
    return std::vector<Reg>{b_.compute(Op::add, before[0], term)};
  });
  return is_low_precision(dtype) ? emit_cast(b_, dtype, sum[0]) : sum[0];
}

// Returns the position on an axis of the first element under the window. There is one, because graph/infer_window.cpp
// refuses windows of padding alone.
Index Expression::first_under(const AxisWindow& axis, const Index& position) {
  const Index start = math_.shift(math_.scale(position, axis.stride), -axis.padding);
  if (axis.padding == 0) return start;
  cx_.note(start, true);
  const Reg begin = math_.emit(start), zero = b_.index(0), dilation = b_.index(axis.dilation);
  const Reg before = b_.max(b_.sub(zero, begin), zero);  // number of padding elements before the axis
  const Reg taps = b_.div(b_.add(before, b_.index(axis.dilation - 1)), dilation);
  return math_.of(b_.add(begin, b_.mul(taps, dilation)), axis.from - 1);
}

// Returns an output of max_pool. It begins with the least number there is, at the place of the window's first element,
// and takes whatever is greater, or the first NaN. Padding holds the least number, so it is never taken.
Reg Expression::max_pool(Value v, const Indices& at) {
  const Node& node = cx_.graph.node(v);
  const Ints &axes = node.attrs.ints("axes"), &kernel = node.attrs.ints("kernel");
  const auto h = static_cast<size_t>(axes[0]), w = static_cast<size_t>(axes[1]);
  const Dims& from = cx_.graph.type(node.inputs[0]).shape;
  const auto place = [&](const Index& row, const Index& column) {
    return number(math_.add(math_.scale(row, from[w]), column), DType::i32);
  };
  const Reg lowest = emit_lowest(b_, node.type().dtype);
  const Index row = first_under(axis_window(node.attrs, 0, from[h]), at[h]);
  const Index column = first_under(axis_window(node.attrs, 1, from[w]), at[w]);
  const Reg first = place(row, column);
  // The first of unrolled taps is taken as it is; a loop has one body for all taps, which has to compare.
  bool is_first = kernel[0] <= kUnrolled && kernel[1] <= kUnrolled;
  const auto best =
      over_taps(node, at, false, {lowest, first}, [&](const auto& before, const Indices& read, Reg holds) {
        const Reg x = guarded(holds, node.inputs[0], read, lowest);
        if (std::exchange(is_first, false)) return std::vector<Reg>{x, before[1]};
        const Reg takes = emit_exceeds(b_, x, before[0]);
        return std::vector<Reg>{b_.compute(Op::select, takes, x, before[0]),
                                b_.compute(Op::select, takes, place(read[h], read[w]), before[1])};
      });
  bind({v.node, 0}, at, best[0]);
  bind({v.node, 1}, at, best[1]);
  return best[static_cast<size_t>(v.out)];
}

}  // namespace kb
