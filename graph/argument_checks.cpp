#include "graph/argument_checks.h"

#include <algorithm>

#include "graph/infer_rules.h"
#include "graph/report.h"

namespace kb {

Ints real_axes(std::string_view op, Tensor x, Ints axes) {
  require_valid(op, x);
  const bool all = axes.empty();
  for (int64_t& axis : axes) axis = real_axis(op, x, axis);
  for (int64_t i = 0; all && i < x.rank(); ++i) axes.push_back(i);
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end())
    report(op, {"an axis stands twice", "each axis once", ints_text(axes), "-1 is the last axis"});
  return axes;
}

Dims kept_shape(Tensor x, const Ints& axes) {
  Dims shape = x.shape();
  for (const int64_t axis : axes) shape[static_cast<size_t>(axis)] = 1;
  return shape;
}

void require_rank(std::string_view op, Tensor x, int64_t rank, const char* expected) {
  require_valid(op, x);
  if (x.rank() != rank) report(op, {"wrong number of dimensions", expected, shape_text(x.type()), ""});
}

void require_positive(std::string_view op, int64_t value, const char* what) {
  if (value < 1) report(op, {std::string(what) + " out of range", "1 or more", std::to_string(value), ""});
}

void require_float(std::string_view op, Tensor x) {
  require_valid(op, x);
  if (!is_float(x.dtype()))
    report(op, {"dtype is no float", "f64, f32, bf16 or f16", to_string(x.type()), "cast(x, DType::f32)"});
}

double number_in(std::string_view op, DType dtype, double number) {
  const double rounded = round_to(dtype, number);
  if (is_float(dtype) || rounded == number) return rounded;
  report(op, {"the number does not fit the dtype", "a number that is exact in " + std::string(name(dtype)),
              number_text(number), "cast(x, DType::f32), or another dtype"});
}

// Returns a hint for operands that do not broadcast. Often one has the first axes of another, as [N] beside [N, K], and
// not its last ones.
static std::string broadcast_hint(const std::vector<Type>& types) {
  for (const Type& low : types)
    for (const Type& high : types) {
      const bool leads = low.rank() > 0 && low.rank() < high.rank() &&
                         std::equal(low.shape.begin(), low.shape.end(), high.shape.begin());
      if (!leads) continue;
      Dims shape = low.shape;
      shape.resize(high.shape.size(), 1);
      std::string extents = ints_text(shape);
      extents.front() = '{', extents.back() = '}';
      return "reshape(x, " + extents + ") lays x " + shape_text(low) + " along the first axes";
    }
  return "broadcast_axes(x, shape, axes) says which axis of the result each axis of x is";
}

Dims broadcast_shape(std::string_view op, const std::vector<Tensor>& tensors) {
  std::vector<Type> types;
  std::vector<Value> values;
  for (const Tensor& tensor : tensors) types.push_back(tensor.type()), values.push_back(tensor.value());
  size_t rank = 0;
  for (const Type& type : types) rank = std::max(rank, type.shape.size());
  Dims shape(rank, 1);
  for (const Type& type : types) {
    for (size_t i = 0; i < type.shape.size(); ++i) {
      int64_t& extent = shape[rank - 1 - i];
      const int64_t own = type.shape[type.shape.size() - 1 - i];
      if (extent != 1 && own != 1 && extent != own)
        report(op,
               {"shapes do not broadcast", "equal extents, or 1, counted from the last axis", operands_text(types, op),
                broadcast_hint(types)},
               tensors.front().graph().makers(values));
      if (extent == 1) extent = own;
    }
  }
  return shape;
}

}  // namespace kb
