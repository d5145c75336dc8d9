// Point-wise operations and conversions as C++ expressions.
#include "compiler/print/cpp_printer.h"
#include "graph/error.h"

namespace kb::cpp {

void CppPrinter::invert(const Instr& instr) { define(instr, (instr.lane_varying ? "~" : "!") + scalar(instr.a)); }

void CppPrinter::select(const Instr& instr) {
  const bool vector = instr.lane_varying;
  std::string condition = scalar(instr.a);
  if (varying(instr.a) && is_wide(instr.type)) condition = fmt::format("wide({})", condition);
  define(instr, fmt::format("{} ? {} : {}", condition, operand(instr.b, vector), operand(instr.c, vector)));
}

void CppPrinter::call(const Instr& instr, DType t) {
  if (is_narrow(t) && instr.op == Op::mul_high)
    return define(instr, fmt::format("{} * {} >> {}", loose(instr.a), loose(instr.b), info(t).bits));
  KernelPrinter::call(instr, t);
}

void CppPrinter::compare(const Instr& instr, DType t) {
  const bool vector = instr.lane_varying;
  std::string a = loose(instr.a), b = loose(instr.b);
  if (vector && t == DType::boolean)
    a = fmt::format("({} & 1)", operand(instr.a, true)), b = fmt::format("({} & 1)", operand(instr.b, true));
  const std::string value = fmt::format("{} {} {}", a, info(instr.op).infix, b);
  define(instr, vector && is_wide(t) ? fmt::format("narrow({})", value) : value);
}

void CppPrinter::real(const Instr& instr, DType t) {
  if (instr.op == Op::neg) return define(instr, "-" + scalar(instr.a));
  if (const std::string_view sign = info(instr.op).infix; !sign.empty())
    return define(instr, rounded(t, fmt::format("{} {} {}", loose(instr.a), sign, loose(instr.b))));
  ensure(t == DType::f64, "a function that emit_math should have expanded");
  if (!instr.lane_varying)
    return define(instr, fmt::format("__builtin_{}({}{})", name(instr.op), scalar(instr.a),
                                     instr.b == kNone ? "" : ", " + scalar(instr.b)));
  const auto element = [&](Reg r) { return varying(r) ? fmt::format("r{}[l]", r) : scalar(r); };
  line("{} r{} = {{}};", vector_type(t), instr.dst);
  line("for (long l = 0; l < {}; ++l) r{}[l] = __builtin_{}({}{});", lanes_, instr.dst, name(instr.op),
       element(instr.a), instr.b == kNone ? "" : ", " + element(instr.b));
}

void CppPrinter::integer(const Instr& instr, DType t) {
  const bool vector = instr.lane_varying;
  if (instr.op == Op::shift_left || instr.op == Op::shift_right) return shift(instr, t);
  const std::string_view sign = instr.op == Op::neg ? "-" : info(instr.op).infix;
  ensure(!sign.empty(), "an op of floats on integers");
  const bool bits = info(instr.op).rule == TypeRule::bits;
  const std::string plain = t == DType::i32 && !bits ? fmt::format("({})", c_type(DType::u32, vector)) : "";
  const auto argument = [&](Reg r) {
    return plain.empty() && t != DType::boolean ? loose(r) : plain + operand(r, vector);
  };
  const std::string a = instr.op == Op::neg ? "0u" : argument(instr.a);
  const std::string b = argument(instr.op == Op::neg ? instr.a : instr.b);
  define(instr, cut(t, fmt::format("{} {} {}", a, sign, b), bits));
}

std::string CppPrinter::cut(DType t, const std::string& value, bool fits) const {
  return fits || !is_narrow(t) ? value : low_bits(t, fmt::format("({})", value));
}

std::string CppPrinter::low_bits(DType t, const std::string& value) const {
  return is_signed(t) ? rounded(t, value) : fmt::format("{} & {}u", value, greatest(t));
}

void CppPrinter::shift(const Instr& instr, DType t) {
  const bool vector = instr.lane_varying;
  const Instr& count = definition(instr.b);
  const std::string a = operand(instr.a, vector), b = operand(instr.b, vector);
  const bool left = instr.op == Op::shift_left;
  if (count.code == Code::constant && count.number >= 0 && count.number < 32) {
    const std::string whole = fmt::format("({}){}", c_type(left && !is_narrow(t) ? DType::u32 : t, vector), a);
    return define(instr, cut(t, fmt::format("{} {} {}", whole, left ? "<<" : ">>", count.number), !left));
  }
  define(instr, cut(t, fmt::format("shift_{}({}, {})", left ? "left" : "right", a, b), !left));
}

void CppPrinter::bitcast(const Instr& instr) {
  if (instr.lane_varying) return define(instr, fmt::format("({}){}", vector_type(instr.type), scalar(instr.a)));
  KernelPrinter::bitcast(instr);
}

void CppPrinter::convert(const Instr& instr) {
  if (const RegInfo& dst = reg(instr.dst); dst.uses > 0 && dst.uses == dst.rounding_stores) return;
  define(instr, converted(instr));
}

std::string CppPrinter::converted(const Instr& instr) const {
  const DType from = type(instr.a), to = instr.type;
  if (is_low_precision(to) && reg(instr.a).exact_in == to) return scalar(instr.a);
  return instr.lane_varying ? convert_vector(instr.a, from, to) : convert_scalar(scalar(instr.a), from, to);
}

std::string CppPrinter::convert_scalar(const std::string& a, DType from, DType to) const {
  if (to == DType::boolean) return a + " != 0";
  if (is_float(to)) return rounded(to, from == to ? a : fmt::format("({}){}", memory_type(variable_type(to)), a));
  const std::string whole = is_float(from) ? fmt::format("(long){}", a) : a;
  if (is_narrow(to)) return low_bits(to, fmt::format("({})({})", c_type(to, false), whole));
  return fmt::format("({}){}", memory_type(to), whole);
}

std::string CppPrinter::convert_vector(Reg r, DType from, DType to) const {
  const std::string a = operand(r, true);
  const DType have = variable_type(from), want = variable_type(to);
  if (reg(r).strided && (to == DType::u32 || to == DType::i32))
    return fmt::format("({0})((u32){1} + (u32x{2})iota_i32x{2} * (u32){3})", vector_type(to), scalar(r), lanes_,
                       stride(r));
  if (to == DType::boolean) return is_wide(from) ? fmt::format("narrow({} != 0)", a) : a + " != 0";
  std::string value = from == DType::boolean ? fmt::format("({} & 1)", a) : a;
  DType now = have;
  if (is_narrow(from) && is_float(to)) value = fmt::format("({}){}", vector_type(now = DType::i32), value);
  // A float becomes an i32 and is then cut to a narrow integer's bits, because i32 holds other values too.
  const DType target = is_narrow(to) && is_float(from) ? DType::i32 : want;
  const auto is_bits = [](DType t) { return t == DType::i32 || t == DType::u32 || t == DType::boolean; };
  if (target == DType::u32 && is_float(now)) {
    value = fmt::format("whole_u32({})", value);
  } else if (is_bits(now) && is_bits(target)) {
    value = fmt::format("({}){}", vector_type(target), value);
  } else if (now != target) {
    value = fmt::format("__builtin_convertvector({}, {})", value, vector_type(target));
  }
  if (is_narrow(to)) return low_bits(to, fmt::format("({}){}", vector_type(to), value));
  return rounded(to, value);
}

}  // namespace kb::cpp
