// The meaning of KernelIR's instructions on single values.
#include <algorithm>
#include <cmath>

#include "compiler/kernel_interpreter.h"
#include "graph/error.h"
#include "graph/formula.h"

namespace kb::ir {
namespace {

int64_t wrap(DType type, int64_t value) {
  switch (type) {
    case DType::i32:
      return static_cast<int32_t>(value);
    case DType::u32:
      return static_cast<uint32_t>(value);
    case DType::u8:
      return static_cast<uint8_t>(value);
    case DType::boolean:
      return value != 0;
    default:
      return value;
  }
}

// bf16 and f16 arithmetic is f32 arithmetic, rounded again.
double round_float(DType type, double value) {
  if (type == DType::f64) return value;
  const float narrow = static_cast<float>(value);
  return type == DType::f32 ? narrow : round_to(type, narrow);
}

double evaluate_float(Op op, DType type, double x, double y) {
  switch (op) {
    case Op::neg:
      return -x;
    case Op::abs:
      return std::fabs(x);
    case Op::sqrt:
      return std::sqrt(x);
    case Op::floor:
      return std::floor(x);
    case Op::add:
      return x + y;
    case Op::sub:
      return x - y;
    case Op::mul:
      return x * y;
    case Op::div:
      return x / y;
    case Op::maximum:
      return x > y || std::isnan(x) ? x : y;
    case Op::minimum:
      return x < y || std::isnan(x) ? x : y;
    default: {
      ensure(type == DType::f64, "a function that emit_math should have expanded");
      const double args[] = {x, y};
      return evaluate_op(op, {args, static_cast<size_t>(info(op).arity)});
    }
  }
}

template <class T>
bool compare(Op op, T x, T y) {
  switch (op) {
    case Op::eq:
      return x == y;
    case Op::ne:
      return x != y;
    case Op::lt:
      return x < y;
    case Op::le:
      return x <= y;
    case Op::gt:
      return x > y;
    case Op::ge:
      return x >= y;
    default:
      throw InternalError("not a comparison");
  }
}

int64_t evaluate_integer(Op op, DType type, int64_t x, int64_t y) {
  const int64_t bits = 8 * size_of(type);
  switch (op) {
    case Op::neg:
      return -x;
    case Op::abs:
      return x < 0 ? -x : x;
    case Op::add:
      return x + y;
    case Op::sub:
      return x - y;
    case Op::mul:  // modulo 2^64
      return static_cast<int64_t>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
    case Op::div:
      return y == 0 ? 0 : x / y;
    case Op::maximum:
      return x > y ? x : y;
    case Op::minimum:
      return x < y ? x : y;
    case Op::bit_and:
      return x & y;
    case Op::bit_or:
      return x | y;
    case Op::bit_xor:
      return x ^ y;
    case Op::shift_left:
      return x << std::clamp<int64_t>(y, 0, bits);
    case Op::shift_right:
      return x >> std::clamp<int64_t>(y, 0, bits);
    case Op::mul_high:
      return x < 0 || y < 0 ? (x * y) >> bits
                            : static_cast<int64_t>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y) >> bits);
    default:
      throw InternalError("an op of floats on integers");
  }
}

}  // namespace

Scalar evaluate_primitive(Op op, DType type, const Scalar& x, const Scalar& y, const Scalar& z) {
  const bool is_real = is_float(type);
  if (op == Op::select) return x.integer ? y : z;
  if (op == Op::logical_not) return {0, x.integer == 0};
  if (info(op).rule == TypeRule::compare)
    return {0, is_real ? compare(op, x.number, y.number) : compare(op, x.integer, y.integer)};
  if (is_real) return {round_float(type, evaluate_float(op, type, x.number, y.number)), 0};
  return {0, wrap(type, evaluate_integer(op, type, x.integer, y.integer))};
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
