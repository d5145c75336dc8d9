#include <algorithm>
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
