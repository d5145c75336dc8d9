#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/building.h"

namespace kb {
namespace {

// Returns the permutation that moves `axis` to the front of x's axes.
Ints brought_to_front(const Type& x, int64_t axis) {
  Ints permutation{axis};
  for (int64_t i = 0; i < x.rank(); ++i)
    if (i != axis) permutation.push_back(i);
  return permutation;
}

// Returns the permutation that moves the first `leading` axes after the `axis` axes that follow them.
Ints brought_back(int64_t rank, int64_t leading, int64_t axis) {
  Ints permutation(static_cast<size_t>(rank));
  std::iota(permutation.begin(), permutation.end(), 0);
  std::rotate(permutation.begin(), permutation.begin() + leading, permutation.begin() + leading + axis);
  return permutation;
}

}  // namespace

Tensor one_hot(Tensor indices, int64_t classes, DType dtype, Where where) {
  const Call call(where);
  require_same_graph("one_hot", {indices});
  if (classes < 1) report("one_hot", {"no classes", "1 or more", std::to_string(classes), ""});
  if (!is_integer(indices.dtype()))
    report("one_hot", {"indices are no integers", names_text(tensor_dtypes(is_integer)), to_string(indices.type()),
                       "cast(indices, DType::i32)"});
  Dims shape = indices.shape();
  Ints axes;
  for (int64_t i = 0; i < indices.rank(); ++i) axes.push_back(i);
  shape.push_back(classes);
  Tensor wide = broadcast_axes(cast(indices, DType::i32), std::move(shape), std::move(axes));
  return cast(eq(wide, iota(indices.graph(), DType::i32, classes)), dtype);
}

Tensor gather(Tensor table, Tensor indices, Where where) {
  const Call call(where);
  return make(Op::gather, {table, indices});
}

Tensor gather(Tensor x, Tensor indices, int64_t axis, Where where) {
  const Call call(where);
  require_same_graph("gather", {x, indices});
  axis = real_axis("gather", x.type(), axis);
  if (axis == 0) return gather(x, indices);
  const Tensor taken = gather(transpose(x, brought_to_front(x.type(), axis)), indices);
  return transpose(taken, brought_back(taken.rank(), indices.rank(), axis));
}

Tensor flip(Tensor x, Ints axes, Where where) {
  const Call call(where);
  require_same_graph("flip", {x});
  for (const int64_t axis : real_axes("flip", x.type(), std::move(axes))) {
    const int64_t extent = x.size(axis);
    if (extent > 1) x = gather(x, static_cast<double>(extent - 1) - iota(x.graph(), DType::i32, extent), axis);
  }
  return x;
}

TopK topk(Tensor x, int64_t k, int64_t axis, Where where) {
  const Call call(where);
  require_same_graph("topk", {x});
  axis = real_axis("topk", x.type(), axis);
  const int64_t extent = x.size(axis);
  if (k < 1 || k > extent)
    report("topk", {"k out of range", "1 to " + std::to_string(extent) + ", the extent of the axis", std::to_string(k),
                    "x is " + shape_text(x.type())});
  const double lowest = is_float(x.dtype()) ? -HUGE_VAL : static_cast<double>(least(x.dtype()));
  const Tensor place = broadcast_axes(iota(x.graph(), DType::i32, extent), x.shape(), {axis});
  Tensor left = constant(x.graph(), DType::boolean, 1, x.shape());  // whether an element is not yet taken
  std::vector<Tensor> values, places;
  for (int64_t i = 0; i < k; ++i) {
    // The index is that of the first among those left which equal the greatest: minus infinity may be it.
    const Tensor greatest = max(select(left, x, lowest), {axis}, true);
    const Tensor is_greatest = bit_and(left, bit_or(eq(x, greatest), ne(x, x)));
    places.push_back(min(select(is_greatest, place, static_cast<double>(extent)), {axis}, true));
    const Tensor is_taken = eq(place, places.back());
    // The sum hands the gradient to one element, whatever the ties; u8 has no sum, and integers no gradient.
    values.push_back(is_float(x.dtype()) ? sum(select(is_taken, x, 0.0), {axis}, true) : greatest);
    left = bit_and(left, logical_not(is_taken));
  }
  return {concat(values, axis), concat(places, axis)};
}

IndexOrder index_order(Tensor indices, int64_t rows, Where where) {
  const Call call(where);
  const Tensor order = make(Op::index_order, {indices}, {{"rows", rows}});
  return {order, output(order, 1)};
}

Tensor scatter_add(Tensor indices, Tensor updates, int64_t rows, Where where) {
  const Call call(where);
  require_same_graph("scatter_add", {indices, updates});
  const IndexOrder sorted = index_order(indices, rows);
  return make(Op::scatter_add, {indices, updates, sorted.order, sorted.starts}, {{"rows", rows}});
}

Tensor crop(Tensor x, Tensor window, Ints size, Where where) {
  const Call call(where);
  return make(Op::crop, {x, window}, {{"size", std::move(size)}});
}

}  // namespace kb
