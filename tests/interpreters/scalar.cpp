#include "tests/interpreters/scalar.h"

#include <cmath>

#include "graph/error.h"

namespace kb::ir {
namespace {

// Rounds a result to `type`. Arithmetic in bf16 and f16 is f32 arithmetic, rounded again.
double round_float(DType type, double value) {
  if (type == DType::f64) return value;
  const float narrow = static_cast<float>(value);
  return type == DType::f32 ? narrow : round_to(type, narrow);
}

}  // namespace

Scalar evaluate_primitive(Op op, DType type, const Scalar& x, const Scalar& y, const Scalar& z) {
  if (op == Op::select) return x.integer ? y : z;
  const OpInfo& row = info(op);
  const bool to_boolean = row.rule == TypeRule::compare || op == Op::logical_not;
  if (is_float(type)) {
    ensure(type == DType::f64 || row.cost != OpCost::function, "a function that emit_math should have expanded");
    ensure(row.real, "an op of bits on floats");
    const double result = row.real(x.number, y.number, z.number);
    return to_boolean ? Scalar{0, result != 0} : Scalar{round_float(type, result), 0};
  }
  ensure(row.integer, "an op of floats on integers");
  return {0, wrap(to_boolean ? DType::boolean : type, row.integer(x.integer, y.integer, 8 * size_of(type)))};
}

double evaluate_fma(DType type, double a, double b, double c) {
  if (type == DType::f64) return std::fma(a, b, c);
  return std::fma(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c));
}

Scalar convert_scalar(DType to, DType from, const Scalar& x) {
  if (is_float(from)) {
    if (is_float(to)) return {round_float(to, x.number), 0};
    if (to == DType::boolean) return {0, x.number != 0};
    return {0, static_cast<int64_t>(round_to(to, x.number))};
  }
  if (is_float(to)) return {round_float(to, static_cast<double>(x.integer)), 0};
  return {0, wrap(to, x.integer)};
}

}  // namespace kb::ir
