#include "graph/infer_rules.h"

namespace kb {
namespace {

void check_same_shape(Op op, std::span<const Type> in) {
  for (const Type& type : in.subspan(1))
    if (type.shape != in[0].shape)
      throw Mistake{"shapes differ", "operands of one shape", operands_text(in, name(op)), ""};
}

DType result_dtype(Op op, std::span<const Type> in, const Attrs& attrs) {
  if (op == Op::cast) return attrs.dtype("dtype");
  if (op == Op::logical_not) {
    check_dtype(in[0], DType::boolean, "x");
    return DType::boolean;
  }
  if (op == Op::select) {
    check_dtype(in[0], DType::boolean, "condition");
    check_same_dtype(in.subspan(1));
    return in[1].dtype;
  }
  if (op == Op::order_key) {
    check_dtype(in[0], DType::f32, "x");
    return DType::u32;
  }
  check_same_dtype(in);
  const DType dtype = in[0].dtype;
  switch (info(op).rule) {
    case TypeRule::floats:
      check_float(in[0], "cast(x, DType::f32)");
      return dtype;
    case TypeRule::arithmetic:
      if (dtype == DType::boolean)
        throw Mistake{"no arithmetic on booleans", "floats or integers", operands_text(in),
                      "cast(x, DType::f32), or bit_and, bit_or, bit_xor"};
      return dtype;
    case TypeRule::compare:
      return DType::boolean;
    case TypeRule::bits:
      if (is_float(dtype)) throw Mistake{"no bits of floats", "integers or booleans", operands_text(in), ""};
      return dtype;
    case TypeRule::integers:
      if (is_float(dtype)) throw Mistake{"no bits of floats", "integers", operands_text(in), ""};
      if (dtype == DType::boolean)
        throw Mistake{"no shifts or products of booleans", "integers", operands_text(in), "cast(x, DType::u32)"};
      return dtype;
    default:
      throw InternalError("no dtype rule for " + std::string(name(op)));
  }
}

}  // namespace

std::vector<Type> infer_pointwise(Op op, std::span<const Type> in, const Attrs& attrs) {
  Type result{result_dtype(op, in, attrs), in[0].shape, in[0].names};
  check_same_shape(op, in);
  for (const Type& type : in.subspan(1)) result.names = merge_names(result.names, type.names);
  return {std::move(result)};
}

}  // namespace kb
