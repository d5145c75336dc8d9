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
