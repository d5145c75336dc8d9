#include "compiler/lower/emit.h"

#include <limits>

#include "compiler/kernel/math.h"
#include "graph/formula.h"

namespace kb {

using ir::Reg;

namespace {

constexpr double kRealInfinity = std::numeric_limits<double>::infinity();

Reg emit_formula(ir::Builder& b, const Formula& formula, DType type, const Reg (&args)[3]) {
  switch (formula.kind) {
    case Formula::Kind::number:
      return emit_number(b, type, formula.number);
    case Formula::Kind::argument:
      return args[formula.argument];
    case Formula::Kind::result:
      break;
    case Formula::Kind::call: {
      Reg values[3] = {ir::kNone, ir::kNone, ir::kNone};
      for (size_t i = 0; i < formula.args.size(); ++i) values[i] = emit_formula(b, *formula.args[i], type, args);
      return emit_pointwise(b, formula.op, type, values[0], values[1], values[2]);
    }
  }
  throw InternalError("a composite's formula reads its own result");
}

}  // namespace

Reg emit_number(ir::Builder& b, DType dtype, double value) {
  return b.constant(arithmetic_dtype(dtype), round_to(dtype, value));
}

Reg emit_lowest(ir::Builder& b, DType dtype) {
  return emit_number(b, dtype, is_float(dtype) ? -kRealInfinity : static_cast<double>(least(dtype)));
}

Reg emit_highest(ir::Builder& b, DType dtype) {
  return emit_number(b, dtype, is_float(dtype) ? kRealInfinity : static_cast<double>(greatest(dtype)));
}

Reg emit_exceeds(ir::Builder& b, Reg x, Reg y) {
  if (!is_float(b.type(x))) return b.compute(Op::gt, x, y);
  const Reg at_most = b.compute(Op::le, x, y);  // false for NaN
  return b.compute(Op::bit_and, b.compute(Op::logical_not, at_most), b.compute(Op::eq, y, y));
}

namespace {

// Casts a float to an integer as cast_float (graph/formula.h) does. Only what the integer type holds is converted,
// because processors differ in the rest. Narrow integers are selected as i32.
Reg emit_whole(ir::Builder& b, DType to, Reg x) {
  const DType from = b.type(x), wide = is_narrow(to) ? DType::i32 : to;
  const auto low = static_cast<double>(least(to)), high = static_cast<double>(greatest(to));
  const Reg above = b.compute(Op::ge, x, b.constant(from, high + 1));
  const Reg inside = b.compute(Op::bit_and, b.compute(Op::ge, x, b.constant(from, low)),
                               b.compute(Op::lt, x, b.constant(from, high + 1)));
  Reg whole = b.convert(wide, b.compute(Op::select, inside, x, b.constant(from, 0)));
  whole = b.compute(Op::select, above, b.constant(wide, high), whole);
  if (is_signed(to))
    whole = b.compute(Op::select, b.compute(Op::lt, x, b.constant(from, low)), b.constant(wide, low), whole);
  return b.convert(to, whole);
}

}  // namespace

Reg emit_cast(ir::Builder& b, DType to, Reg x) {
  const DType from = b.type(x), held = arithmetic_dtype(to);
  if (from == to) return x;
  if (is_float(from) && is_integer(to)) return emit_whole(b, to, x);
  if (to == DType::boolean) return b.compute(Op::ne, x, b.constant(from, 0));
  if (from == DType::boolean) return b.compute(Op::select, x, b.constant(held, 1), b.constant(held, 0));
  return b.convert(held, b.convert(to, x));
}

namespace {

// Returns the key that the table's row order_key describes.
Reg emit_order_key(ir::Builder& b, Reg x) {
  const auto number = [&](double value) { return b.constant(DType::u32, value); };
  const auto select = [&](Reg condition, Reg y, Reg z) { return b.compute(Op::select, condition, y, z); };
  const Reg zero = b.constant(DType::f32, 0), sign = number(0x80000000u), all = number(0xFFFFFFFFu);
  const Reg bits = b.bitcast(DType::u32, select(b.compute(Op::eq, x, zero), zero, x));
  const Reg key =
      select(b.compute(Op::lt, x, zero), b.compute(Op::bit_xor, bits, all), b.compute(Op::bit_or, bits, sign));
  return select(b.compute(Op::eq, x, x), key, all);
}

}  // namespace

Reg emit_pointwise(ir::Builder& b, Op op, DType dtype, Reg x, Reg y, Reg z) {
  if (op == Op::cast) return emit_cast(b, dtype, x);
  if (op == Op::order_key) return emit_order_key(b, x);
  Reg result = ir::kNone;
  if (const FormulaRef formula = formula_of(op))
    result = emit_formula(b, *formula, b.type(x), {x, y, z});
  else if (is_math(op) && b.type(x) != DType::f64)
    result = emit_math(b, op, b.type(x), x, y);
  else
    result = b.compute(op, x, y, z);
  if (!is_low_precision(dtype) || info(op).exact) return result;
  return b.convert(DType::f32, b.convert(dtype, result));
}

}  // namespace kb
