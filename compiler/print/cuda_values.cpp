// Point-wise operations and conversions as CUDA C++ expressions.
#include "compiler/print/cuda_printer.h"
#include "graph/error.h"

namespace kb::cuda {

void CudaPrinter::select(const Instr& instr) {
  const std::string c = kept(instr.a), x = kept(instr.b), y = kept(instr.c);
  const bool is_hidden = promoted(instr.type) == DType::i32 && compares_integers(instr.a);
  define(instr, is_hidden ? fmt::format("choose({}, {}, {})", c, x, y) : fmt::format("{} ? {} : {}", c, x, y));
}

void CudaPrinter::invert(const Instr& instr) { define(instr, "!" + kept(instr.a)); }

// Whether a select on this condition can be a maximum or minimum of integers: see "choose" in cuda_prelude.cpp.
bool CudaPrinter::compares_integers(Reg condition) const {
  const Instr& instr = definition(condition);
  if (instr.code != Code::compute) return true;
  if (info(instr.op).rule == TypeRule::compare) return !is_float(type(instr.a));
  return compares_integers(instr.a) || (instr.b != kNone && compares_integers(instr.b)) ||
         (instr.c != kNone && compares_integers(instr.c));
}

void CudaPrinter::call(const Instr& instr, DType t) {
  if (promoted(t) == DType::i32 && (instr.op == Op::maximum || instr.op == Op::minimum))
    return define(instr, fmt::format("choose({0} {1} {2}, {0}, {2})", kept(instr.a),
                                     instr.op == Op::maximum ? '>' : '<', kept(instr.b)));
  if (is_narrow(t) && instr.op == Op::mul_high)
    return define(instr, rounded(t, fmt::format("{} * {} >> {}", operand(instr.a), operand(instr.b), info(t).bits)));
  KernelPrinter::call(instr, t);
}

void CudaPrinter::real(const Instr& instr, DType t) {
  if (instr.op == Op::neg) return define(instr, rounded(t, "-" + operand(instr.a)));
  if (const std::string_view sign = info(instr.op).infix; !sign.empty())
    return define(instr, rounded(t, fmt::format("{} {} {}", operand(instr.a), sign, operand(instr.b))));
  ensure(t == DType::f64, "a function that emit_math should have expanded");
  define(instr, fmt::format("{}({}{})", name(instr.op), kept(instr.a), instr.b == kNone ? "" : ", " + kept(instr.b)));
}

// Signed arithmetic wraps, so it is written in unsigned numbers; narrow integers are cut to their bits.
void CudaPrinter::integer(const Instr& instr, DType t) {
  if (instr.op == Op::shift_left || instr.op == Op::shift_right) return shift(instr, t);
  const std::string_view sign = instr.op == Op::neg ? "-" : info(instr.op).infix;
  ensure(!sign.empty(), "an op of floats on integers");
  const bool wraps = t == DType::i32 && info(instr.op).rule != TypeRule::bits;
  const std::string cast = wraps ? "(u32)" : "";
  const std::string a = instr.op == Op::neg ? "0u" : cast + operand(instr.a);
  const std::string b = cast + operand(instr.op == Op::neg ? instr.a : instr.b);
  const std::string value = fmt::format("{} {} {}", a, sign, b);
  define(instr, wraps ? fmt::format("(int)({})", value) : rounded(t, value));
}

// A shift by the width or more gives the result of as many shifts by one bit.
void CudaPrinter::shift(const Instr& instr, DType t) {
  const Instr& count = definition(instr.b);
  const std::string a = operand(instr.a), b = operand(instr.b);
  const bool left = instr.op == Op::shift_left;
  std::string value = fmt::format("shift_{}({}, {})", left ? "left" : "right", a, b);
  if (count.code == Code::constant && count.number >= 0 && count.number < 32)
    value = left && t == DType::i32 ? fmt::format("(int)((u32){} << {})", a, count.number)
                                    : fmt::format("{} {} {}", a, left ? "<<" : ">>", count.number);
  define(instr, rounded(t, value));
}

void CudaPrinter::convert(const Instr& instr) { define(instr, converted(instr)); }

std::string CudaPrinter::converted(const Instr& instr) const {
  const DType from = type(instr.a), to = instr.type;
  const std::string a = operand(instr.a);
  if (to == from) return kept(instr.a);
  if (to == DType::boolean) return a + " != 0";
  if (is_low_precision(to)) return rounded(to, from == DType::f32 ? a : "(float)" + a);
  // Floats become unsigned numbers modulo 2^32 by passing through a signed number of 64 bits.
  if (is_float(from) && (to == DType::u32 || is_narrow(to)))
    return fmt::format("({})(long long){}", memory_type(to), a);
  return is_low_precision(from) && to == DType::f32 ? a : fmt::format("({}){}", memory_type(to), a);
}

}  // namespace kb::cuda
