#include "graph/infer_rules.h"

namespace kb {
namespace {

Type without_axes(const Type& x, const Ints& axes) {
  check_axes(axes, x);
  Type result{x.dtype, {}, names_without(x, axes)};
  size_t next = 0;
  for (int64_t i = 0; i < x.rank(); ++i) {
    if (next < axes.size() && axes[next] == i)
      ++next;
    else
      result.shape.push_back(x.shape[static_cast<size_t>(i)]);
  }
  return result;
}

std::vector<Type> infer_moments(const Type& x, const Ints& axes) {
  check_float(x, "cast(x, DType::f32)");
  Type result = without_axes(x, axes);
  result.dtype = arithmetic_dtype(x.dtype);
  return {result, result};
}

}  // namespace

std::vector<Type> infer_reduction(Op op, std::span<const Type> in, const Attrs& attrs) {
  const Type& x = in[0];
  const Ints axes = op == Op::argmax ? Ints{attrs.integer("axis")} : attrs.ints("axes");
  if (op == Op::moments) return infer_moments(x, axes);
  if (op == Op::reduce_sum || op == Op::reduce_prod)
    check_summable(x);
  else
    check_numbers(x);
  Type result = without_axes(x, axes);
  if (op == Op::argmax) {
    check_i32_numbers(x.shape[static_cast<size_t>(axes[0])], "elements of x on the axis", x);
    result.dtype = DType::i32;
  }
  return {std::move(result)};
}

}  // namespace kb
