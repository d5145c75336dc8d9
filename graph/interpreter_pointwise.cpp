// Point-wise ops: floats by the op table's own scalar evaluation, integers where a double is not exact (or not defined)
// by 64-bit arithmetic.
#include <algorithm>

#include <fmt/format.h>

#include "graph/formula.h"
#include "graph/interpreter_ops.h"

namespace kb::oracle {
namespace {

// Wraps modulo 2^64 here and to the dtype's own width afterwards: both are multiples of 2^bits. Division by zero gives
// zero; a shift by the width or more gives what shifting one by one would.
int64_t integer_op(Op op, int64_t bits, int64_t a, int64_t b) {
  const auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  const int64_t shift = std::clamp<int64_t>(b, 0, bits);
  switch (op) {
    case Op::mul:
      return static_cast<int64_t>(ua * ub);
    case Op::div:
      return b == 0 ? 0 : a / b;
    case Op::bit_and:
      return a & b;
    case Op::bit_or:
      return a | b;
    case Op::bit_xor:
      return a ^ b;
    case Op::shift_left:
      return static_cast<int64_t>(ua << shift);
    case Op::shift_right:
      return a >> shift;
    // Products of two values of at most 32 bits fit: signed ones in i64, unsigned ones in u64.
    case Op::mul_high:
      return a < 0 || b < 0 ? (a * b) >> bits : static_cast<int64_t>((ua * ub) >> bits);
    default:
      throw InternalError("interpreter: not an integer op");
  }
}

bool needs_integers(Op op) {
  switch (op) {
    case Op::mul:
    case Op::div:
    case Op::bit_and:
    case Op::bit_or:
    case Op::bit_xor:
    case Op::shift_left:
    case Op::shift_right:
    case Op::mul_high:
      return true;
    default:
      return false;
  }
}

// The low `bits` bits as the dtype's own number; exact in double.
double wrapped(DType dtype, int64_t value) {
  switch (dtype) {
    case DType::i32:
      return static_cast<int32_t>(static_cast<uint32_t>(static_cast<uint64_t>(value)));
    case DType::u32:
      return static_cast<uint32_t>(static_cast<uint64_t>(value));
    case DType::u8:
      return static_cast<uint8_t>(static_cast<uint64_t>(value));
    case DType::boolean:
      return value != 0;
    default:
      throw InternalError("interpreter: no integer arithmetic in this dtype");
  }
}

void integers(const Work& work) {
  const DType dtype = work.in[0]->type.dtype;
  const int64_t bits = dtype == DType::boolean ? 1 : 8 * size_of(dtype);
  const std::vector<double>&a = work.in[0]->data, &b = work.in[1]->data;
  std::vector<double>& out = work.out[0].data;
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t value = integer_op(work.node.op, bits, static_cast<int64_t>(a[i]), static_cast<int64_t>(b[i]));
    out[i] = wrapped(dtype, value);
  }
}

template <class F>
void map(const Work& work, F&& f) {
  std::vector<double>& out = work.out[0].data;
  std::array<double, 3> args{};
  const std::span<const double> given(args.data(), work.in.size());
  for (size_t i = 0; i < out.size(); ++i) {
    for (size_t k = 0; k < work.in.size(); ++k) args[k] = work.in[k]->data[i];
    out[i] = f(given);
  }
}

}  // namespace

void pointwise(const Work& work) {
  const Op op = work.node.op;
  if (op == Op::cast) {
    const DType to = work.out[0].type.dtype;
    if (is_float(work.in[0]->type.dtype) && !is_float(to))
      return map(work, [&](std::span<const double> x) { return cast_float(to, x[0]); });
    return map(work, [&](std::span<const double> x) { return to == DType::boolean ? double(x[0] != 0) : x[0]; });
  }
  if (!is_float(work.in[0]->type.dtype) && needs_integers(op)) return integers(work);
  if (const FormulaRef formula = formula_of(op)) {
    return map(work, [&](std::span<const double> x) { return kb::evaluate(*formula, x, 0.0); });
  }
  map(work, [&](std::span<const double> x) { return evaluate_op(op, x); });
}

}  // namespace kb::oracle
