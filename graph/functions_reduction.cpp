#include "graph/building.h"

namespace kb {
namespace {

// Reduces x by `op`; `keep_dims` puts extents of 1 back.
Tensor reduce(std::string_view called, Op op, Tensor x, Ints axes, bool keep_dims) {
  axes = real_axes(called, x, std::move(axes));
  const Dims kept = kept_shape(x, axes);
  const std::string names = x.type().names;
  Tensor result = make(op, {x}, {{"axes", std::move(axes)}});
  return keep_dims ? reshape(result, kept, names) : result;
}

constexpr int64_t kBlock = 32;  // elements of an axis whose sums cumsum adds up one by one

// Returns the cumulative sums of a short axis: element i adds up the elements j <= i. Nothing is multiplied by 0, which
// an infinity would turn into NaN.
Tensor short_cumsum(Tensor x, int64_t axis) {
  Dims pairs = x.shape();  // axis `axis` has the element j, the next one the sum i
  pairs.insert(pairs.begin() + axis, x.size(axis));
  Ints axes;
  for (int64_t i = 0; i < x.rank(); ++i) axes.push_back(i <= axis ? i : i + 1);
  const Tensor numbers = iota(x.graph(), DType::i32, x.size(axis));
  const Tensor is_added = le(broadcast_axes(numbers, pairs, {axis}), broadcast_axes(numbers, pairs, {axis + 1}));
  return sum(select(is_added, broadcast_axes(x, pairs, axes), 0.0), {axis});
}

// Sums a long axis by blocks: within each, and then what lies before each.
Tensor block_cumsum(Tensor x, int64_t axis) {
  const int64_t extent = x.size(axis), blocks = (extent + kBlock - 1) / kBlock;
  if (blocks == 1) return short_cumsum(x, axis);
  Ints low(static_cast<size_t>(x.rank()), 0), high = low;
  high[static_cast<size_t>(axis)] = blocks * kBlock - extent;
  Dims cut = x.shape(), flat = cut;
  flat[static_cast<size_t>(axis)] = blocks * kBlock;
  cut[static_cast<size_t>(axis)] = kBlock;
  cut.insert(cut.begin() + axis, blocks);
  const Tensor within = short_cumsum(reshape(pad(x, low, high), cut), axis + 1);
  Dims totals = x.shape();
  totals[static_cast<size_t>(axis)] = blocks;
  const Tensor ends = block_cumsum(reshape(slice(within, axis + 1, kBlock - 1, kBlock), totals), axis);
  low[static_cast<size_t>(axis)] = 1;
  high[static_cast<size_t>(axis)] = 0;
  totals.insert(totals.begin() + axis + 1, 1);
  const Tensor before = reshape(pad(slice(ends, axis, 0, blocks - 1), low, high), totals);
  return slice(reshape(within + before, flat), axis, 0, extent);
}

}  // namespace

#define KB_REDUCTION(op, function, ...)                               \
  Tensor function(Tensor x, Ints axes, bool keep_dims, Where where) { \
    const Call call(where);                                           \
    return reduce(#function, Op::op, x, std::move(axes), keep_dims);  \
  }
#include "graph/reductions.inc"

Tensor count(Tensor x, Ints axes, Where where) {
  const Call call(where);
  return make(Op::count, {x}, {{"axes", real_axes("count", x, std::move(axes))}, {"dtype", x.dtype()}});
}

Tensor mean(Tensor x, Ints axes, bool keep_dims, Where where) {
  const Call call(where);
  require_float("mean", x);
  const Tensor elements = widened(x), total = reduce("mean", Op::reduce_sum, elements, axes, keep_dims);
  return cast(total / count(elements, std::move(axes)), x.dtype());
}

Tensor cumsum(Tensor x, int64_t axis, Where where) {
  const Call call(where);
  require_same_graph("cumsum", {x});
  return cast(block_cumsum(widened(x), real_axis("cumsum", x, axis)), x.dtype());
}

Tensor argmax(Tensor x, int64_t axis, Where where) {
  const Call call(where);
  return make(Op::argmax, {x}, {{"axis", real_axis("argmax", x, axis)}});
}

Moments moments(Tensor x, Ints axes, Where where) {
  const Call call(where);
  const Tensor mean = make(Op::moments, {x}, {{"axes", real_axes("moments", x, std::move(axes))}});
  return {mean, output(mean, 1)};
}

Tensor norm(Tensor x, Ints axes, bool keep_dims, Where where) {
  const Call call(where);
  require_float("norm", x);
  const Tensor elements = widened(x);
  Tensor squares = sum(elements * elements, std::move(axes), keep_dims);
  // The inner select keeps the infinite derivative of sqrt at 0 out of the gradient: 0 * inf would be NaN.
  Tensor positive = gt(squares, 0.0);
  return cast(select(positive, sqrt(select(positive, squares, 1.0)), squares), x.dtype());
}

}  // namespace kb
