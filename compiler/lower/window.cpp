// Computes one element of a window op's result by loops over the window's taps, in place. Gradients gather from the
// windows that hold the element, so that no result depends on an order of writes.

#include <utility>

#include "compiler/lower/emit.h"
#include "compiler/lower/expression.h"

namespace kb {

using ir::Reg;

namespace {

constexpr int64_t kUnrolled = 4;  // most taps of an axis that are unrolled, with accumulators in registers

// The position that tap number `tap` of the window reads along one windowed axis: `index` where `holds` is true (kNone:
// always).
struct Reach {
  Index index, tap;
  Reg holds = ir::kNone;
};

AxisWindow axis_window(const Attrs& attrs, size_t axis, int64_t from) {
  return {attrs.ints("kernel")[axis], attrs.ints("stride")[axis], attrs.ints("padding")[axis],
          attrs.ints("dilation")[axis], from};
}

}  // namespace

// Loops over the taps of both windowed axes and returns the last accumulators. `step` turns the accumulators before a
// tap into those after it; it gets the tap's number, the index vector that it reads, and the condition under which that
// is there. A max_pool gets the nearest tap that is there, so that all its reads are.
std::vector<Reg> Expression::over_taps(const Node& node, const Indices& at, bool gradient,
                                       const std::vector<Reg>& initial, const TapStep& step) {
  const Ints& axes = node.attrs.ints("axes");
  const Dims& from = cx_.graph.type(node.inputs[0]).shape;
  const auto h = static_cast<size_t>(axes[0]), w = static_cast<size_t>(axes[1]);
  const AxisWindow rows = axis_window(node.attrs, 0, from[h]), columns = axis_window(node.attrs, 1, from[w]);
  const auto reach = [&](const AxisWindow& axis, const Index& position, const Index& round) {
    Reach to{.index = {}, .tap = round};
    if (!gradient) {
      if (node.op == Op::max_pool) to.tap = nearest_tap(axis, position, round);
      to.index = window_position(axis, position, to.tap);
      if (node.op != Op::max_pool) to.holds = inside(to.index, 0, axis.from);
      return to;
    }
    const Index padded = math_.shift(position, axis.padding);
    if (axis.dilation == 1) {
      to.index = math_.add(math_.div(padded, axis.stride), math_.scale(round, -1));
      to.tap = math_.add(math_.mod(padded, axis.stride), math_.scale(round, axis.stride));
      to.holds = both(inside(to.index, 0, axis.from), inside(to.tap, 0, axis.kernel));
      return to;
    }
    const Index start = math_.add(padded, math_.scale(round, -axis.dilation));
    to.index = math_.div(start, axis.stride);
    to.holds = both(inside(start, 0, axis.from * axis.stride), inside(math_.mod(start, axis.stride), 0, 1));
    return to;
  };
  const auto index_read = [&](const AxisWindow& axis, const Reach& to) {
    return reads_nearest(node) ? nearest(to.index, axis.from) : to.index;
  };
  return loop_values(gradient ? rows.gradient_taps() : rows.kernel, initial, [&](const Index& i, const auto& outer) {
    const Reach row = reach(rows, at[h], i);
    return loop_values(gradient ? columns.gradient_taps() : columns.kernel, outer,
                       [&](const Index& j, const auto& inner) {
                         const Reach column = reach(columns, at[w], j);
                         Indices read = at;
                         read[h] = index_read(rows, row);
                         read[w] = index_read(columns, column);
                         const Index tap = math_.add(math_.scale(row.tap, columns.kernel), column.tap);
                         return step(inner, tap, read, both(row.holds, column.holds));
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
    case Op::take_at_index:
      return take_at_index(node, at);
    default:
      break;
  }
  const DType dtype = node.type().dtype;
  const Reg zero = emit_number(b_, dtype, 0);
  const auto sum = over_taps(node, at, node.op != Op::sum_pool, {zero},
                             [&](const auto& before, const Index& tap, const Indices& read, Reg holds) {
                               const Reg term = node.op == Op::max_pool_grad
                                                    ? taken(node, tap, read, holds, zero)
                                                    : guarded(holds, node.inputs[0], read, zero);
                               return std::vector<Reg>{b_.compute(Op::add, before[0], term)};
                             });
  return is_low_precision(dtype) ? emit_cast(b_, dtype, sum[0]) : sum[0];
}

// Returns whether the gradient of a max_pool reads the nearest window in place of one that is not there. A GPU does, so
// that its loads wait for no branch; a CPU passes such a window by.
bool Expression::reads_nearest(const Node& node) const {
  return node.op == Op::max_pool_grad && cx_.target.processor == Processor::gpu;
}

// Returns the gradient of a window that holds the element as `tap`, or `zero` if it took another one or is not there.
Reg Expression::taken(const Node& node, const Index& tap, const Indices& read, Reg holds, Reg zero) {
  const Value dy = node.inputs[0], index = node.inputs[1];
  const Reg guard = reads_nearest(node) ? ir::kNone : holds;
  const Reg took = guarded(guard, index, read, b_.constant(cx_.graph.type(index).dtype, 0));
  Reg is_own = b_.compute(Op::eq, b_.convert(DType::i32, took), number(tap, DType::i32));
  if (guard != holds) is_own = both(is_own, holds);
  return b_.compute(Op::select, is_own, guarded(guard, dy, read, zero), zero);
}

// Returns the element of x that the window's index names.
Reg Expression::take_at_index(const Node& node, const Indices& at) {
  const Ints &axes = node.attrs.ints("axes"), &kernel = node.attrs.ints("kernel");
  const Dims& from = cx_.graph.type(node.inputs[0]).shape;
  const Checked tap = checked(node, 1, at, element_count(kernel));
  const Index taps[] = {math_.div(tap.index, kernel[1]), math_.mod(tap.index, kernel[1])};
  Reg holds = tap.holds;
  Indices read = at;
  for (size_t i = 0; i < 2; ++i) {
    const auto axis = static_cast<size_t>(axes[i]);
    const AxisWindow window = axis_window(node.attrs, i, from[axis]);
    read[axis] = window_position(window, at[axis], taps[i]);
    holds = both(holds, inside(read[axis], 0, window.from));
  }
  return guarded(holds, node.inputs[0], read, missing(node.type().dtype));
}

// Returns the position on an axis of a window's tap, which may lie in the padding.
Index Expression::window_position(const AxisWindow& axis, const Index& window, const Index& tap) {
  return math_.add(math_.shift(math_.scale(window, axis.stride), -axis.padding), math_.scale(tap, axis.dilation));
}

// Returns the index in [0, extent) that is nearest to `index`.
Index Expression::nearest(const Index& index, int64_t extent) {
  const bool below = math_.least(index) < 0, beyond = math_.most(index) >= extent;
  if (!below && !beyond) return index;
  cx_.note(index, true);
  Reg inner = math_.emit(index);
  if (below) inner = b_.max(inner, b_.index(0));
  if (beyond) inner = b_.min(inner, b_.index(extent - 1));
  return math_.of(inner, extent - 1);
}

// Returns the tap on an axis that is nearest to `tap` and lies on an element. There is one, because
// graph/infer_window.cpp refuses windows of padding alone.
Index Expression::nearest_tap(const AxisWindow& axis, const Index& window, const Index& tap) {
  const Index at = window_position(axis, window, tap), start = window_position(axis, window, IndexMath::literal(0));
  const bool below = math_.least(at) < 0, beyond = math_.most(at) >= axis.from;
  if (!below && !beyond) return tap;
  cx_.note(start, true);
  cx_.note(tap, true);
  const Reg first = math_.emit(start), zero = b_.index(0), dilation = b_.index(axis.dilation);
  Reg inner = math_.emit(tap);
  if (below) {
    const Reg before = b_.max(b_.sub(zero, first), zero);  // number of padding elements before the axis
    inner = b_.max(inner, b_.div(b_.add(before, b_.index(axis.dilation - 1)), dilation));
  }
  if (beyond) inner = b_.min(inner, b_.div(b_.sub(b_.index(axis.from - 1), first), dilation));
  return math_.of(inner, axis.kernel - 1);
}

// Returns an output of max_pool. It begins with the least number there is, as the window's first element, and takes
// whatever is greater, or the first NaN. A tap in the padding stands for the nearest one that is not, and a second look
// at an element changes nothing.
Reg Expression::max_pool(Value v, const Indices& at) {
  const Node& node = cx_.graph.node(v);
  const Ints &axes = node.attrs.ints("axes"), &kernel = node.attrs.ints("kernel");
  const DType index = node.outputs[1].dtype;
  const auto first_tap = [&](size_t i) {
    const auto axis = static_cast<size_t>(axes[i]);
    const int64_t from = cx_.graph.type(node.inputs[0]).shape[axis];
    return nearest_tap(axis_window(node.attrs, i, from), at[axis], IndexMath::literal(0));
  };
  const Reg lowest = emit_lowest(b_, node.type().dtype);
  const Reg first = number(math_.add(math_.scale(first_tap(0), kernel[1]), first_tap(1)), index);
  // The first of unrolled taps is taken as it is; a loop has one body for all taps, which has to compare.
  bool is_first = kernel[0] <= kUnrolled && kernel[1] <= kUnrolled;
  const auto best =
      over_taps(node, at, false, {lowest, first}, [&](const auto& before, const Index& tap, const Indices& read, Reg) {
        const Reg x = value(node.inputs[0], read);
        if (std::exchange(is_first, false)) return std::vector<Reg>{x, before[1]};
        const Reg takes = emit_exceeds(b_, x, before[0]);
        return std::vector<Reg>{b_.compute(Op::select, takes, x, before[0]),
                                b_.compute(Op::select, takes, number(tap, index), before[1])};
      });
  bind({v.node, 0}, at, best[0]);
  bind({v.node, 1}, at, best[1]);
  return best[static_cast<size_t>(v.out)];
}

}  // namespace kb
