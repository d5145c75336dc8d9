#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "graph/building.h"
#include "graph/rounding.h"

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

// Elements of one axis with their places on it, i32.
struct Placed {
  Tensor value, place;
};

// Returns whether a is less than b, where NaN counts as greater than every number.
Tensor is_less(Tensor a, Tensor b) { return bit_or(lt(a, b), bit_and(eq(a, a), ne(b, b))); }

// Returns whether a comes before b in a stable order.
Tensor is_before(const Placed& a, const Placed& b, bool descending) {
  const Tensor differ = descending ? is_less(b.value, a.value) : is_less(a.value, b.value);
  const Tensor both_nan = bit_and(ne(a.value, a.value), ne(b.value, b.value));
  const Tensor equal = bit_or(eq(a.value, b.value), both_nan);
  return bit_or(differ, bit_and(equal, lt(a.place, b.place)));
}

constexpr int64_t kMostPasses = 8;      // most elements that topk finds by a pass over the axis each
constexpr int64_t kMostCompared = 128;  // longest axis on which sort compares each element with every other
constexpr int64_t kDigit = 11;          // most bits of the digits by which longer ones are sorted
constexpr int64_t kLeastCut = 64;       // rows so many times as long as what is taken of them are cut into blocks

double lowest_of(DType dtype) { return is_float(dtype) ? -HUGE_VAL : static_cast<double>(least(dtype)); }

// Returns the only element along `axis` for which `is_it` holds, keeping the axis. The sum hands the gradient to one
// element, whatever the ties; u8 has no sum, and integers no gradient.
Tensor only(Tensor is_it, Tensor x, int64_t axis) {
  return is_float(x.dtype()) ? sum(select(is_it, x, 0.0), {axis}, true)
                             : max(select(is_it, x, lowest_of(x.dtype())), {axis}, true);
}

// Returns a u32 for each element, in the order in which they are sorted, and how many of its bits differ.
struct Keys {
  Tensor key;
  int64_t bits;
};
Keys keys_of(Tensor x, bool descending) {
  const DType dtype = x.dtype();
  // Floats of 16 bits are f32 whose lowest bits are 0.
  const int64_t none = dtype == DType::bf16 ? 16 : dtype == DType::f16 ? 13 : 0;
  Tensor key = is_float(dtype) ? order_key(cast(stop_gradient(x), DType::f32)) : cast(x, DType::u32);
  if (is_signed(dtype) && !is_float(dtype)) key = bit_xor(key, 0x1p31);
  if (descending) key = bit_xor(key, 0x1p32 - 1);
  if (none > 0) key = shift_right(key, static_cast<double>(none));
  return {key, dtype == DType::u8 ? 8 : 32 - none};
}

// Returns the positions of the elements of keys [rows, extent], row after row, each row in its order. All rows are
// sorted together by one digit of their keys after the other, the least first, and at last by row: each pass keeps
// equal ones in order (Knuth 1998, volume 3, section 5.2.5, algorithm R).
Tensor sorted_positions(const Keys& keys) {
  const int64_t rows = keys.key.size(0), extent = keys.key.size(1);
  const int64_t passes = ceil_div(keys.bits, kDigit), digit = ceil_div(keys.bits, passes), classes = 1 << digit;
  const Tensor key = reshape(keys.key, {rows * extent});
  Tensor order;
  const auto sort_by = [&](Tensor number, int64_t below) {
    const Tensor next = index_order(number, below).order;
    order = order.valid() ? gather(order, next) : next;
  };
  for (int64_t i = 0; i < passes; ++i) {
    const Tensor ordered = order.valid() ? gather(key, order) : key;
    const Tensor number = shift_right(ordered, static_cast<double>(i * digit));
    sort_by(cast(bit_and(number, static_cast<double>(classes - 1)), DType::i32), classes);
  }
  if (rows > 1) sort_by(order / static_cast<double>(extent), rows);
  return reshape(order, {rows, extent});
}

// Returns the numbers of the rows, i32 [rows, 1], times the extent of a row.
Tensor row_begins(Graph& graph, int64_t rows, int64_t extent) {
  return reshape(iota(graph, DType::i32, rows), {rows, 1}) * static_cast<double>(extent);
}

// Returns the places on their rows of the first k elements of each row of keys [rows, extent], in their order. If a row
// is much longer than k, it is cut into blocks: its first k elements lie in the k blocks whose least keys come first,
// because in any other block an element has the least elements of k blocks before it. These blocks, put in the order
// of the row, are much shorter than the row.
Tensor first_places(const Keys& keys, int64_t k) {
  const int64_t rows = keys.key.size(0), extent = keys.key.size(1);
  Graph& graph = keys.key.graph();
  if (extent < kLeastCut * k) return slice(sorted_positions(keys), 1, 0, k) - row_begins(graph, rows, extent);
  // The k blocks have about as many elements as there are blocks.
  const auto block = static_cast<int64_t>(std::sqrt(static_cast<double>(extent / k)));
  const int64_t blocks = ceil_div(extent, block);
  // An element that pads a row comes behind all that equal it.
  const Tensor whole = pad(keys.key, {0, 0}, {0, blocks * block - extent}, std::exp2(keys.bits) - 1);
  const Tensor cut = reshape(whole, {rows * blocks, block}), least = reshape(min(cut, {1}), {rows, blocks});
  const Tensor chosen = sort(first_places({least, keys.bits}, k)).value;
  const Tensor left = reshape(gather(cut, chosen + row_begins(graph, rows, blocks)), {rows, k * block});
  const Tensor place = reshape(chosen, {rows, k, 1}) * static_cast<double>(block) + iota(graph, DType::i32, block);
  return take_along_axis(reshape(place, {rows, k * block}), first_places({left, keys.bits}, k), 1);
}

// Sorts a short axis, or one of f64. An element's rank is the number of elements before it.
Sorted sort_by_rank(Tensor x, int64_t axis, bool descending) {
  // Axis `axis` has the element, the next one the others.
  Dims one = x.shape(), other = x.shape(), pairs = x.shape();
  const auto next = [axis](Dims& dims) { return dims.begin() + axis + 1; };
  one.insert(next(one), 1);
  other.insert(next(other) - 1, 1);
  pairs.insert(next(pairs), x.size(axis));
  const Tensor numbers = iota(x.graph(), DType::i32, x.size(axis));
  const Tensor row = broadcast_axes(numbers, pairs, {axis}), column = broadcast_axes(numbers, pairs, {axis + 1});
  const Tensor ranked = reshape(x, one), others = broadcast_to(reshape(x, other), pairs);
  const Tensor rank = sum(cast(is_before({others, column}, {ranked, row}, descending), DType::i32), {axis + 1});
  // Now axis `axis` has the place in the sorted row, and the next one the elements, one of which has that rank.
  const Tensor is_here = eq(row, broadcast_to(reshape(rank, other), pairs));
  return {reshape(only(is_here, others, axis + 1), x.shape()), reshape(only(is_here, column, axis + 1), x.shape())};
}

// Returns the first k elements of each sorted row of x along `axis`.
Sorted first_sorted(Tensor x, int64_t k, int64_t axis, bool descending) {
  const int64_t extent = x.size(axis);
  if (extent <= kMostCompared || x.dtype() == DType::f64) {
    const Sorted all = sort_by_rank(x, axis, descending);
    return {slice(all.value, axis, 0, k), slice(all.index, axis, 0, k)};
  }
  Ints last(static_cast<size_t>(x.rank()));  // the permutation that moves the axis to the end; its own inverse
  std::iota(last.begin(), last.end(), 0);
  std::swap(last[static_cast<size_t>(axis)], last.back());
  const Tensor moved = transpose(x, last), table = reshape(moved, {moved.type().elements()});
  const int64_t rows = moved.type().elements() / extent;
  const Tensor place = first_places(keys_of(reshape(moved, {rows, extent}), descending), k);
  Dims shape = moved.shape();
  shape.back() = k;
  const auto back = [&](Tensor y) { return transpose(reshape(y, shape), last); };
  return {back(gather(table, place + row_begins(x.graph(), rows, extent))), back(place)};
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
  axis = real_axis("gather", x, axis);
  if (axis == 0) return gather(x, indices);
  const Tensor taken = gather(transpose(x, brought_to_front(x.type(), axis)), indices);
  return transpose(taken, brought_back(taken.rank(), indices.rank(), axis));
}

Tensor take_along_axis(Tensor x, Tensor indices, int64_t axis, Where where) {
  const Call call(where);
  constexpr std::string_view kOp = "take_along_axis";
  require_same_graph(kOp, {x, indices});
  axis = real_axis(kOp, x, axis);
  Type expected{DType::i32, x.shape(), ""};
  if (indices.rank() == x.rank()) expected.shape[static_cast<size_t>(axis)] = indices.size(axis);
  if (indices.dtype() != DType::i32 || indices.shape() != expected.shape)
    report(kOp, {"indices do not fit x", to_string(expected) + ", with any extent on axis " + std::to_string(axis),
                 to_string(indices.type()), "x is " + shape_text(x.type())});
  const int64_t extent = x.size(axis), elements = x.type().elements();
  if (elements > std::numeric_limits<int32_t>::max())
    report(kOp, {"x is too large", "at most 2^31 - 1 elements", std::to_string(elements), ""});
  // x is one table, [outer, extent, inner]. An index outside of its row lies outside of the table too.
  int64_t outer = 1;
  for (int64_t i = 0; i < axis; ++i) outer *= x.size(i);
  const int64_t inner = elements / (outer * extent);
  const auto numbers = [&](int64_t length, Dims shape) { return reshape(iota(x.graph(), DType::i32, length), shape); };
  const Tensor place = reshape(indices, {outer, -1, inner});
  const Tensor row = numbers(outer, {outer, 1, 1}) * static_cast<double>(extent) + place;
  const Tensor at = row * static_cast<double>(inner) + numbers(inner, {1, 1, inner});
  const Tensor is_in_row = bit_and(place >= 0.0, place < static_cast<double>(extent));
  return reshape(gather(reshape(x, {elements}), select(is_in_row, at, -1.0)), indices.shape());
}

Tensor flip(Tensor x, Ints axes, Where where) {
  const Call call(where);
  for (const int64_t axis : real_axes("flip", x, std::move(axes))) {
    const int64_t extent = x.size(axis);
    if (extent > 1) x = gather(x, static_cast<double>(extent - 1) - iota(x.graph(), DType::i32, extent), axis);
  }
  return x;
}

TopK topk(Tensor x, int64_t k, int64_t axis, Where where) {
  const Call call(where);
  axis = real_axis("topk", x, axis);
  const int64_t extent = x.size(axis);
  if (k < 1 || k > extent)
    report("topk", {"k out of range", "1 to " + std::to_string(extent) + ", the extent of the axis", std::to_string(k),
                    "x is " + shape_text(x.type())});
  if (k > kMostPasses) {
    const Sorted first = first_sorted(x, k, axis, true);
    return {first.value, first.index};
  }
  const Tensor place = broadcast_axes(iota(x.graph(), DType::i32, extent), x.shape(), {axis});
  std::vector<Tensor> values, places;
  Tensor left = constant(x.graph(), DType::boolean, 1, x.shape());  // whether an element is not yet taken
  for (int64_t i = 0; i < k; ++i) {
    // The index is that of the first among those left which equal the greatest: minus infinity may be it.
    const Tensor greatest = max(select(left, x, lowest_of(x.dtype())), {axis}, true);
    const Tensor is_greatest = bit_and(left, bit_or(eq(x, greatest), ne(x, x)));
    places.push_back(min(select(is_greatest, place, static_cast<double>(extent)), {axis}, true));
    values.push_back(is_float(x.dtype()) ? only(eq(place, places.back()), x, axis) : greatest);
    // The last element taken alone tells which are left, so that each of the k compiles in the same time.
    left = is_before({greatest, places.back()}, {x, place}, true);
  }
  return {concat(values, axis), concat(places, axis)};
}

Sorted sort(Tensor x, int64_t axis, bool descending, Where where) {
  const Call call(where);
  axis = real_axis("sort", x, axis);
  return first_sorted(x, x.size(axis), axis, descending);
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

namespace {

// Finds the two elements beside each place on one axis: their numbers in [0, extent), and their weights.
struct Neighbours {
  Tensor index[2], weight[2];

  Neighbours(Tensor place, int64_t extent, const GridOptions& options) {
    const auto last = static_cast<double>(extent - 1), count = static_cast<double>(extent);
    Tensor at = options.align_corners ? (place + 1.0) * (0.5 * last) : ((place + 1.0) * count - 1.0) * 0.5;
    if (options.border) at = clamp(at, 0, last);
    const Tensor lower = floor(at), share = at - lower;
    for (int i = 0; i < 2; ++i) {
      const Tensor number = lower + static_cast<double>(i), inside = bit_and(number >= 0.0, number <= last);
      index[i] = cast(select(inside, number, 0.0), DType::i32);
      weight[i] = select(inside, i == 0 ? 1.0 - share : share, 0.0);
    }
  }
};

}  // namespace

Tensor grid_sample(Tensor x, Tensor grid, const GridOptions& options, Where where) {
  const Call call(where);
  constexpr std::string_view kOp = "grid_sample";
  require_same_graph(kOp, {x, grid});
  require_rank(kOp, x, 4, "x [N, C, H, W]");
  require_float(kOp, x);
  if (grid.dtype() != x.dtype() || grid.rank() != 4 || grid.size(0) != x.size(0) || grid.size(3) != 2)
    report(kOp, {"the grid does not fit x",
                 std::string(name(x.dtype())) + " [N=" + std::to_string(x.size(0)) + ", H', W', 2]",
                 to_string(grid.type()), "x is " + shape_text(x.type())});
  const int64_t n = x.size(0), c = x.size(1), h = x.size(2), w = x.size(3);
  if (n * h * w > std::numeric_limits<int32_t>::max())
    report(kOp, {"x is too large", "at most 2^31 - 1 places, N H W", std::to_string(n * h * w), ""});
  const Tensor places = widened(grid), table = reshape(transpose(widened(x), {0, 2, 3, 1}), {n * h * w, c});
  const auto along = [&](int64_t i) { return reshape(slice(places, 3, i, i + 1), {n, grid.size(1), grid.size(2)}); };
  const Neighbours column(along(0), w, options), row(along(1), h, options);
  const Tensor sample = reshape(iota(x.graph(), DType::i32, n), {n, 1, 1}) * static_cast<double>(h * w);
  Tensor sum;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) {
      const Tensor at = sample + row.index[i] * static_cast<double>(w) + column.index[j];
      const Tensor weight = reshape(row.weight[i] * column.weight[j], {n, grid.size(1), grid.size(2), 1});
      const Tensor part = gather(table, at) * weight;
      sum = sum.valid() ? sum + part : part;
    }
  return cast(transpose(sum, {0, 3, 1, 2}), x.dtype());
}

Tensor crop(Tensor x, Tensor window, Ints size, Where where) {
  const Call call(where);
  return make(Op::crop, {x, window}, {{"size", std::move(size)}});
}

}  // namespace kb
