#include "tests/support/edge_programs.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <random>

#include "compiler/kernel/math.h"
#include "tests/support/edge_draft.h"

namespace kb::test {
namespace {

// ---- point-wise: all pairs of edges ----

// Whether the op's result may differ in its last bits: it is rounded more than once, or computed by a polynomial.
bool is_inexact(const OpInfo& row) { return calls_math(row.op) || (!row.formula.empty() && row.cost == OpCost::slow); }

void pointwise_edges(EdgeTable& table, DType dtype, bool transcendental) {
  Draft draft(table, fmt::format("point-wise {}{}", transcendental ? "function of " : "", name(dtype)));
  const Reals values = edges(dtype);
  const auto n = static_cast<int64_t>(values.size());
  Reals across, down;
  for (int64_t i = 0; i < n * n; ++i) {
    across.push_back(values[static_cast<size_t>(i % n)]);
    down.push_back(values[static_cast<size_t>(i / n)]);
  }
  const Tensor x = draft.given(dtype, {n, n}, across), y = draft.given(dtype, {n, n}, down);
  const Tensor condition = draft.given(DType::boolean, {n, n}, {1, 0, 0, 1, 1});
  const Tensor moderate = draft.sprinkle(dtype, {n, n}, 7);
  for (const OpInfo& row : all_ops()) {
    if (!is_pointwise(row.op) || row.op == Op::cast || row.op == Op::carry) continue;
    if (is_inexact(row) != transcendental) continue;
    draft.tries(std::string(row.name), [&] {
      if (row.op == Op::select) return select(condition, x, y);
      if (std::isfinite(row.ulps_to)) return pointwise(row.op, {moderate});
      return row.arity == 1 ? pointwise(row.op, {x}) : pointwise(row.op, {x, y});
    });
  }
  draft.options().elementwise = true;
  draft.options().tolerance = transcendental ? 32 * rounding(dtype) : 0;
  if (!transcendental) draft.exact();
  draft.done();
}

void casts(EdgeTable& table, DType dtype) {
  Draft draft(table, fmt::format("casts of {}", name(dtype)));
  for (const DType to : kAllDTypes) {
    draft.gives(std::string(name(to)), cast(draft.given(dtype, {5, 11}, edges(dtype)), to));
  }
  draft.options().elementwise = true;
  draft.options().tolerance = 0;
  draft.exact();
  draft.done();
}

// Returns numbers around those at which a rounding to 16 bits gives zero, meets a tie or gives infinity, and random
// bits.
Reals around_rounding(DType low) {
  const double zero = std::ldexp(1.0, low == DType::bf16 ? -134 : -25);
  Reals values = edges(DType::f32);
  for (const double at : {zero, 2 * zero, 3 * zero, 1 + 8 * rounding(low), 65519.0, 65520.0})
    for (const double sign : {1.0, -1.0}) {
      const auto x = static_cast<float>(sign * at);
      for (const float near : {x, std::nextafter(x, 0.0f), std::nextafter(x, x * 2)}) values.push_back(near);
    }
  std::mt19937 random(7);
  while (values.size() < 4096) values.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
  return values;
}

// Values are rounded to 16 bits and then compared, chosen among or rounded again. The compiler leaves such roundings
// out of a GPU's kernels where they change nothing.
void roundings(EdgeTable& table, DType low) {
  Draft draft(table, fmt::format("roundings to {}", name(low)));
  const Reals values = around_rounding(low);
  const Dims shape{static_cast<int64_t>(values.size())};
  const Tensor x = draft.given(DType::f32, shape, values);
  const Tensor y = draft.given(low, shape, Reals(values.rbegin(), values.rend()));
  const auto rounded = [&](Tensor value) { return cast(cast(value, low), DType::f32); };
  const Tensor r = rounded(x), wide = cast(y, DType::f32), output = rounded(relu(x));
  draft.gives("rounded", r);
  draft.gives("above", r > 0);
  draft.gives("below", r < 0);
  draft.gives("not_above", r <= 0);
  draft.gives("not_below", r >= 0);
  draft.gives("other_bound", r > 0.5);
  draft.gives("relu", output > 0);
  const Tensor gradient = select(output > 0, wide, full_like(wide, 0));
  draft.gives("gradient", cast(gradient, low));
  draft.gives("gradient_sum", cast(gradient, low) * 2 + cast(gradient, low));
  draft.gives("inexact_choice", cast(select(r > 0, wide, full_like(wide, 0.1)), low));
  draft.gives("choice_of_two", cast(select(x < 0, wide, r), low));
  draft.options().elementwise = true;
  draft.options().tolerance = 0;
  draft.exact();
  draft.done();
}

// Every pair of types has kernels of its own, because a host's compiler may fail at one combination of types. Outputs
// have different extents, so that they are not fused into one kernel.
void pairs_of_types(EdgeTable& table, DType by) {
  Draft draft(table, fmt::format("{} beside every other type", name(by)));
  int64_t extent = 33;
  for (const DType of : kAllDTypes) {
    const Dims shape = {++extent};
    const Tensor x = draft.given(by, shape, edges(by)), y = draft.given(of, shape, edges(of));
    const Tensor z = draft.given(of, shape, {1, 0, 1, 1}), zero = full_like(x, 0);
    draft.gives("select", select(gt(x, zero), y, z));
    const Dims other = {2, 50 + extent};
    const Tensor wide = draft.given(by, other, edges(by)), row = draft.given(of, {50 + extent}, edges(of));
    draft.gives("select by rows", select(ne(wide, full_like(wide, 1)), row, full_like(row, 1)));
    const Tensor alone = draft.given(by, {90 + extent}, edges(by));
    draft.gives("cast", cast(alone, of));
    const Tensor compared = draft.given(by, {130 + extent}, edges(by)),
                 with = draft.given(of, {130 + extent}, edges(of));
    draft.gives("compare", eq(gt(compared, full_like(compared, 0)), le(with, full_like(with, 1))));
  }
  draft.options().elementwise = true;
  draft.options().tolerance = 0;
  draft.exact();
  draft.done();
}

// ---- moves: every rank, extents of 1, primes and large ones, axes in many orders ----

const std::vector<Dims>& shapes() {
  static const std::vector<Dims> all = {{},
                                        {1},
                                        {7},
                                        {1, 1},
                                        {13, 1},
                                        {1, 13},
                                        {3, 17},
                                        {1, 1, 1},
                                        {5, 7, 11},
                                        {2, 1, 19},
                                        {2, 3, 5, 7},
                                        {1, 5, 1, 3},
                                        {37, 1, 1, 2},
                                        {1, 1, 1, 1, 1},
                                        {2, 1, 3, 5, 2},
                                        {3, 2, 1, 2, 17},
                                        {20011},
                                        {4099, 3},
                                        {3, 4099},
                                        {2, 1031, 5}};
  return all;
}

Ints shuffled_axes(int64_t rank, std::mt19937& random) {
  Ints axes;
  for (int64_t a = 0; a < rank; ++a) axes.insert(axes.begin() + static_cast<int64_t>(random() % (axes.size() + 1)), a);
  return axes;
}

void moves(EdgeTable& table, DType dtype, const Dims& shape, uint32_t seed) {
  std::mt19937 random(seed);
  Draft draft(table, fmt::format("moves of {}{}", name(dtype), text_of(shape)));
  const auto rank = static_cast<int64_t>(shape.size());
  const Tensor x = draft.given(dtype, shape, edges(dtype));
  draft.gives("reshape", reshape(x, {-1}));
  draft.gives("broadcast_to", broadcast_to(x, [&] {
                Dims more = shape;
                more.insert(more.begin(), 3);
                return more;
              }()));
  if (rank > 0) {
    const Ints perm = shuffled_axes(rank, random);
    draft.gives("transpose", transpose(x, perm));
    Dims wide = shape;  // x's axes with one more among them
    const auto at = static_cast<int64_t>(random() % static_cast<uint32_t>(rank + 1));
    wide.insert(wide.begin() + at, 2);
    Ints axes;
    for (int64_t a = 0; a <= rank; ++a)
      if (a != at) axes.push_back(a);
    draft.gives("broadcast_axes", broadcast_axes(x, wide, axes));
    Ints begin, end, step, low, high, between;
    for (const int64_t extent : shape) {
      begin.push_back(extent > 2 ? 1 : 0);
      end.push_back(extent > 4 ? extent - 1 : extent);
      step.push_back(1 + static_cast<int64_t>(random() % 3));
      low.push_back(static_cast<int64_t>(random() % 2));
      high.push_back(static_cast<int64_t>(random() % 3));
      between.push_back(element_count(shape) < 1000 ? static_cast<int64_t>(random() % 2) : 0);
    }
    draft.gives("slice", slice(x, begin, end, step));
    draft.gives("slice of a transpose",
                transpose(slice(transpose(x, perm), 0, -1, shape[static_cast<size_t>(perm[0])]), perm));
    draft.gives("pad", pad(x, low, high, 1, between));
    const auto axis = static_cast<int64_t>(random() % static_cast<uint32_t>(rank));
    draft.gives("concat", concat({x, slice(x, axis, 0, 1), x}, axis - rank));
    const Reals rows = {0, static_cast<double>(shape[0] - 1), static_cast<double>(shape[0] / 2)};
    draft.gives("gather", gather(x, draft.given(DType::i32, {1, 3}, rows)));
    draft.gives("gather by a scalar", gather(x, draft.given(DType::i32, {}, {rows[1]})));
    draft.gives("flatten", flatten(x, axis));
  }
  draft.options().elementwise = true;
  draft.options().tolerance = 0;
  draft.done();
}

// ---- reductions: all axes, each axis, some; rows that hold NaN, infinities, none of them ----

// One in `one_in` values is special, none if it is 0.
void reductions_of(EdgeTable& table, DType dtype, const Dims& shape, uint32_t seed, int one_in) {
  std::mt19937 random(seed);
  Draft draft(table, fmt::format("reductions of {}{}{}", name(dtype), text_of(shape), one_in > 0 ? "" : ", finite"));
  const auto rank = static_cast<int64_t>(shape.size());
  const Tensor x = draft.sprinkle(dtype, shape, one_in), finite = draft.sprinkle(dtype, shape, 0);
  std::vector<Ints> sets = {{}};
  if (rank > 0) sets.push_back({-1});
  if (rank > 1) sets.insert(sets.end(), {{0}, {0, -1}});
  if (rank > 2) sets.push_back({1});
  if (rank > 3) sets.push_back({1, 3});
  for (const Ints& axes : sets) {
    const bool keep = random() % 2 == 0;
    draft.tries("sum", [&] { return sum(x, axes, keep); });
    draft.tries("max", [&] { return max(x, axes, keep); });
    draft.tries("min", [&] { return min(x, axes, keep); });
    draft.tries("prod", [&] { return prod(select(lt(x, 0.0), full_like(x, -1), full_like(x, 1)), axes, keep); });
    draft.tries("mean", [&] { return mean(x, axes, keep); });
    draft.tries("norm", [&] { return norm(x, axes, keep); });
    draft.tries("moments", [&] { return moments(finite, axes).mean; });
    draft.tries("moments", [&] { return moments(finite, axes).variance; });
    draft.tries("count", [&] { return count(x, axes); });
  }
  for (int64_t axis = 0; axis < rank; ++axis) draft.tries("argmax", [&] { return argmax(x, axis); });
  if (rank > 0) {
    draft.tries("softmax", [&] { return softmax(x, 0); });
    draft.tries("softmax", [&] { return softmax(x); });
    draft.tries("log_softmax", [&] { return log_softmax(x); });
  }
  draft.options().tolerance = 16 * rounding(dtype);
  draft.done();
}

// Adds two programs of one graph, of special and of finite values, whose kernels are compiled once.
void reductions(EdgeTable& table, DType dtype, const Dims& shape, uint32_t seed) {
  for (const int one_in : {element_count(shape) > 2000 ? 1999 : 11, 0})
    reductions_of(table, dtype, shape, seed, one_in);
}

}  // namespace

EdgeTable edge_table(bool all) {
  EdgeTable table;
  for (const DType dtype : kAllDTypes) {
    pointwise_edges(table, dtype, false);
    if (is_float(dtype)) pointwise_edges(table, dtype, true);
    casts(table, dtype);
    if (is_low_precision(dtype)) roundings(table, dtype);
    pairs_of_types(table, dtype);
  }
  uint32_t seed = 0;
  size_t number = 0;  // number of the shape; dtypes take turns by it
  for (const Dims& shape : shapes()) {
    ++number;
    const bool large = element_count(shape) > 2000;
    for (size_t i = 0; i < std::size(kAllDTypes); ++i) {
      ++seed;
      // A large shape has one dtype only, because its loops are those of small shapes.
      if (large && seed % std::size(kAllDTypes) != shape.size()) continue;
      const auto has_turn = [&](size_t period) { return all || large || (i + number) % period == 0; };
      if (has_turn(8)) moves(table, kAllDTypes[i], shape, seed);
      if (has_turn(8)) reductions(table, kAllDTypes[i], shape, seed);
    }
  }
  structured_edges(table, all);
  return table;
}

std::set<Op> ops_of(const EdgeTable& table) {
  std::set<Op> ops;
  for (const EdgeProgram& program : table.programs)
    for (const Node& node : program.graph.nodes) ops.insert(node.op);
  return ops;
}

}  // namespace kb::test
