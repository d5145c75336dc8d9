#include "graph/building.h"

namespace kb {
namespace {

// Reduces x by `op`; `keep_dims` puts extents of 1 back.
Tensor reduce(std::string_view called, Op op, Tensor x, Ints axes, bool keep_dims) {
  require_same_graph(called, {x});
  axes = real_axes(called, x.type(), std::move(axes));
  const Dims kept = kept_shape(x.type(), axes);
  const std::string names = x.type().names;
  Tensor result = make(op, {x}, {{"axes", std::move(axes)}});
  return keep_dims ? reshape(result, kept, names) : result;
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
  require_same_graph("count", {x});
  return make(Op::count, {x}, {{"axes", real_axes("count", x.type(), std::move(axes))}, {"dtype", x.dtype()}});
}

Tensor mean(Tensor x, Ints axes, bool keep_dims, Where where) {
  const Call call(where);
  require_same_graph("mean", {x});
  require_float("mean", x.type());
  const Tensor elements = widened(x), total = reduce("mean", Op::reduce_sum, elements, axes, keep_dims);
  return cast(total / count(elements, std::move(axes)), x.dtype());
}

Tensor argmax(Tensor x, int64_t axis, Where where) {
  const Call call(where);
  require_same_graph("argmax", {x});
  return make(Op::argmax, {x}, {{"axis", real_axis("argmax", x.type(), axis)}});
}

Moments moments(Tensor x, Ints axes, Where where) {
  const Call call(where);
  require_same_graph("moments", {x});
  const Tensor mean = make(Op::moments, {x}, {{"axes", real_axes("moments", x.type(), std::move(axes))}});
  return {mean, output(mean, 1)};
}

Tensor norm(Tensor x, Ints axes, bool keep_dims, Where where) {
  const Call call(where);
  require_same_graph("norm", {x});
  require_float("norm", x.type());
  const Tensor elements = widened(x);
  Tensor squares = sum(elements * elements, std::move(axes), keep_dims);
  // The inner select keeps the infinite derivative of sqrt at 0 out of the gradient: 0 * inf would be NaN.
  Tensor positive = gt(squares, 0.0);
  return cast(select(positive, sqrt(select(positive, squares, 1.0)), squares), x.dtype());
}

}  // namespace kb
