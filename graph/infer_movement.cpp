#include <algorithm>

#include "graph/infer_rules.h"

namespace kb {
namespace {

Type infer_broadcast(const Type& x, const Attrs& attrs) {
  Type result{x.dtype, attrs.ints("shape"), ""};
  const Ints& axes = attrs.ints("axes");
  if (static_cast<int64_t>(axes.size()) != x.rank())
    throw Mistake{"axes do not fit", "one axis of the result for each of x " + shape_text(x), ints_text(axes), ""};
  check_axes(axes, result);
  if (!x.names.empty()) result.names.assign(result.shape.size(), '_');
  for (int64_t i = 0; i < x.rank(); ++i) {
    const auto at = static_cast<size_t>(axes[static_cast<size_t>(i)]);
    const int64_t extent = x.shape[static_cast<size_t>(i)];
    if (extent != 1 && extent != result.shape[at])
      throw Mistake{"extents differ",
                    "an extent of 1 or " + std::to_string(result.shape[at]) + " on axis " + std::to_string(i) +
                        ", to become " + shape_text(result),
                    shape_text(x), ""};
    if (!x.names.empty()) result.names[at] = letter(x, i);
  }
  return result;
}

Type infer_reshape(const Type& x, const Attrs& attrs) {
  Type result{x.dtype, attrs.ints("shape"), attrs.has("names") ? attrs.text("names") : ""};
  if (result.elements() != x.elements())
    throw Mistake{"element counts differ", std::to_string(x.elements()) + " elements, as x " + shape_text(x),
                  ints_text(result.shape) + ": " + std::to_string(result.elements()) + " elements",
                  "one extent may be -1: it is worked out"};
  if (!result.names.empty() && result.names.size() != result.shape.size())
    throw Mistake{"names do not fit the shape", "one letter a dimension: " + std::to_string(result.shape.size()),
                  "'" + result.names + "'", "'_' stands for a dimension without a name"};
  return result;
}

Type infer_transpose(const Type& x, const Attrs& attrs) {
  const Ints& perm = attrs.ints("perm");
  Ints sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  bool fits = static_cast<int64_t>(perm.size()) == x.rank();
  for (size_t i = 0; fits && i < sorted.size(); ++i) fits = sorted[i] == static_cast<int64_t>(i);
  if (!fits)
    throw Mistake{"no permutation", "each axis of x " + shape_text(x) + " once", ints_text(perm),
                  "axis i of the result is axis permutation[i] of x"};
  Type result{x.dtype, {}, ""};
  result.shape.reserve(perm.size());
  for (const int64_t axis : perm) {
    result.shape.push_back(x.shape[static_cast<size_t>(axis)]);
    if (!x.names.empty()) result.names += letter(x, axis);
  }
  return result;
}

void check_per_axis(const Ints& values, const Type& x, const char* what) {
  if (static_cast<int64_t>(values.size()) != x.rank())
    throw Mistake{std::string(what) + " does not fit x", "one number an axis of x " + shape_text(x), ints_text(values),
                  ""};
}

Type infer_slice(const Type& x, const Attrs& attrs) {
  const Ints &begin = attrs.ints("begin"), &end = attrs.ints("end"), &step = attrs.ints("step");
  check_per_axis(begin, x, "begin");
  check_per_axis(end, x, "end");
  check_per_axis(step, x, "step");
  Type result = x;
  for (size_t i = 0; i < begin.size(); ++i) {
    if (step[i] < 1) throw Mistake{"step is not positive", "steps of 1 or more", ints_text(step), ""};
    if (begin[i] < 0 || begin[i] >= end[i] || end[i] > x.shape[i])
      throw Mistake{"out of range",
                    "0 <= begin < end <= " + std::to_string(x.shape[i]) + " on axis " + std::to_string(i) + " of x " +
                        shape_text(x),
                    "begin " + std::to_string(begin[i]) + ", end " + std::to_string(end[i]),
                    begin[i] == end[i] ? "no tensor is empty: leave the slice out, of concat too" : ""};
    result.shape[i] = (end[i] - begin[i] + step[i] - 1) / step[i];
  }
  return result;
}

Type infer_pad(const Type& x, const Attrs& attrs) {
  const Ints &low = attrs.ints("low"), &high = attrs.ints("high"), &interior = attrs.ints("interior");
  check_per_axis(low, x, "low");
  check_per_axis(high, x, "high");
  check_per_axis(interior, x, "interior");
  static_cast<void>(attrs.real("value"));  // has to be there
  Type result = x;
  for (size_t i = 0; i < low.size(); ++i) {
    if (low[i] < 0 || high[i] < 0 || interior[i] < 0)
      throw Mistake{"negative padding", "0 or more",
                    "low " + ints_text(low) + ", high " + ints_text(high) + ", interior " + ints_text(interior),
                    "slice(...) removes elements"};
    const int64_t between = element_count({interior[i], x.shape[i] - 1});
    // The bound exceeds what a tensor may have, so nothing overflows.
    result.shape[i] += low[i] + high[i] + std::min(between, int64_t{1} << 50);
  }
  return result;
}

Type infer_concat(std::span<const Type> in, const Attrs& attrs) {
  const int64_t axis = attrs.integer("axis");
  check_axes({axis}, in[0]);
  check_same_dtype(in);
  Type result = in[0];
  for (const Type& part : in.subspan(1)) {
    Dims shape = part.shape;
    if (shape.size() == in[0].shape.size()) shape[static_cast<size_t>(axis)] = in[0].shape[static_cast<size_t>(axis)];
    if (shape != in[0].shape)
      throw Mistake{"parts do not fit", "equal extents but on axis " + std::to_string(axis), operands_text(in), ""};
    result.shape[static_cast<size_t>(axis)] += part.shape[static_cast<size_t>(axis)];
    result.names = merge_names(result.names, part.names);
  }
  return result;
}

Type infer_pack_bits(const Type& x) {
  if (x.dtype != DType::boolean || x.rank() == 0 || x.shape.back() % kPackedBits != 0)
    throw Mistake{"no rows of whole bytes", "booleans whose last extent is a multiple of 8", to_string(x), ""};
  Type result{DType::u8, x.shape, x.names};
  result.shape.back() /= kPackedBits;
  return result;
}

Type infer_unpack_bits(const Type& x) {
  if (x.dtype != DType::u8 || x.rank() == 0) throw Mistake{"no packed bits", "a tensor of u8", to_string(x), ""};
  Type result{DType::boolean, x.shape, x.names};
  result.shape.back() *= kPackedBits;
  return result;
}

}  // namespace

std::vector<Type> infer_movement(Op op, std::span<const Type> in, const Attrs& attrs) {
  if (op == Op::broadcast) return {infer_broadcast(in[0], attrs)};
  if (op == Op::reshape) return {infer_reshape(in[0], attrs)};
  if (op == Op::transpose) return {infer_transpose(in[0], attrs)};
  if (op == Op::slice) return {infer_slice(in[0], attrs)};
  if (op == Op::pad) return {infer_pad(in[0], attrs)};
  if (op == Op::concat) return {infer_concat(in, attrs)};
  if (op == Op::pack_bits) return {infer_pack_bits(in[0])};
  ensure(op == Op::unpack_bits, "infer: no rule for a movement");
  return {infer_unpack_bits(in[0])};
}

}  // namespace kb
