#include <algorithm>
#include <numeric>

#include "graph/building.h"
#include "graph/infer_rules.h"

namespace kb {
namespace {

// Returns `shape` with the extent that is -1 replaced so that the number of elements is x's.
Dims resolve(const Type& x, Dims shape) {
  const auto unknown = std::count(shape.begin(), shape.end(), -1);
  if (unknown > 1) report("reshape", {"more than one -1", "at most one extent to work out", ints_text(shape), ""});
  for (const int64_t extent : shape)
    if (extent < -1) report("reshape", {"negative extent", "extents of 0 or more, or one -1", ints_text(shape), ""});
  if (unknown == 0) return shape;
  const int64_t known = -element_count(shape);
  if (known == 0 || x.elements() % known != 0)
    report("reshape", {"-1 cannot be worked out",
                       "a divisor of the " + std::to_string(x.elements()) + " elements of x " + shape_text(x) +
                           " from the other extents",
                       ints_text(shape), ""});
  *std::find(shape.begin(), shape.end(), -1) = x.elements() / known;
  return shape;
}

// Returns 0, 1, ... count - 1.
Ints leading_axes(size_t count) {
  Ints axes(count);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

}  // namespace

Tensor broadcast_axes(Tensor x, Dims shape, Ints axes, Where where) {
  const Call call(where);
  require_same_graph("broadcast_axes", {x});
  if (x.shape() == shape && axes == leading_axes(x.shape().size())) return x;
  return make(Op::broadcast, {x}, {{"shape", std::move(shape)}, {"axes", std::move(axes)}});
}

Tensor broadcast_to(Tensor x, Dims shape, Where where) {
  if (x.valid() && x.shape() == shape) return x;
  const Call call(where);
  require_same_graph("broadcast_to", {x});
  if (x.shape().size() > shape.size())
    report("broadcast_to", {"too few dimensions", "at least those of x " + shape_text(x.type()), ints_text(shape), ""});
  Ints axes(x.shape().size());
  std::iota(axes.begin(), axes.end(), static_cast<int64_t>(shape.size() - axes.size()));
  return make(Op::broadcast, {x}, {{"shape", std::move(shape)}, {"axes", std::move(axes)}});
}

Tensor reshape(Tensor x, Dims shape, const std::string& letters, Where where) {
  const Call call(where);
  require_same_graph("reshape", {x});
  shape = resolve(x.type(), std::move(shape));
  if (shape == x.shape() && (letters.empty() || letters == x.type().names)) return x;
  return make(Op::reshape, {x}, {{"shape", std::move(shape)}, {"names", letters}});
}

Tensor flatten(Tensor x, int64_t start_axis, Where where) {
  const Call call(where);
  const auto start = static_cast<size_t>(real_axis("flatten", x, start_axis));
  const Dims& shape = x.shape();
  Dims flat(shape.begin(), shape.begin() + static_cast<int64_t>(start));
  flat.push_back(element_count(Dims(shape.begin() + static_cast<int64_t>(start), shape.end())));
  const std::string& names = x.type().names;
  return reshape(x, std::move(flat), names.empty() ? "" : names.substr(0, start) + "_");
}

Tensor transpose(Tensor x, Ints permutation, Where where) {
  const Call call(where);
  for (int64_t& axis : permutation) axis = real_axis("transpose", x, axis);
  return make(Op::transpose, {x}, {{"perm", std::move(permutation)}});
}

Tensor slice(Tensor x, int64_t axis, int64_t begin, int64_t end, int64_t step, Where where) {
  const Call call(where);
  const auto at = static_cast<size_t>(real_axis("slice", x, axis));
  Ints begins(x.shape().size(), 0), ends = x.shape(), steps(x.shape().size(), 1);
  begins[at] = begin < 0 ? begin + x.shape()[at] : begin;
  ends[at] = end < 0 ? end + x.shape()[at] : end;
  steps[at] = step;
  return make(Op::slice, {x}, {{"begin", std::move(begins)}, {"end", std::move(ends)}, {"step", std::move(steps)}});
}

Tensor slice(Tensor x, Ints begin, Ints end, Ints step, Where where) {
  const Call call(where);
  return make(Op::slice, {x}, {{"begin", std::move(begin)}, {"end", std::move(end)}, {"step", std::move(step)}});
}

Tensor pad(Tensor x, Ints low, Ints high, double value, Ints interior, Where where) {
  const Call call(where);
  require_same_graph("pad", {x});
  if (interior.empty()) interior.assign(x.shape().size(), 0);
  return make(Op::pad, {x},
              {{"low", std::move(low)},
               {"high", std::move(high)},
               {"interior", std::move(interior)},
               {"value", number_in("pad", x.dtype(), value)}});
}

Tensor concat(std::vector<Tensor> parts, int64_t axis, Where where) {
  const Call call(where);
  require_same_graph("concat", parts);
  axis = real_axis("concat", parts.front(), axis);
  return parts.size() == 1 ? parts.front() : make(Op::concat, parts, {{"axis", axis}});
}

}  // namespace kb
