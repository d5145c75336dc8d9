#include "compiler/print/kernel_printer.h"

#include <cmath>
#include <cstdlib>

#include "graph/error.h"
#include "graph/text.h"

namespace kb::ir {

KernelPrinter::KernelPrinter(const Kernel& kernel, const Dialect& dialect)
    : kernel_(kernel), dialect_(dialect), definitions_(static_cast<size_t>(kernel.registers)) {
  for (const Phase& phase : kernel.phases) find_definitions(phase.body);
}

void KernelPrinter::find_definitions(const std::vector<Instr>& body) {
  for (const Instr& instr : body) {
    if (instr.dst != kNone) definitions_[static_cast<size_t>(instr.dst)] = &instr;
    find_definitions(instr.body);
  }
}

// ---- text

std::string_view KernelPrinter::memory_type(DType type) const {
  if (type == DType::i64 && kernel_.narrow_index) return dialect_.narrow_index_type;
  return dialect_.types[type];
}

std::string KernelPrinter::literal(DType type, double number, int64_t integer) const {
  const auto signed_text = [](int64_t value) { return fmt::format(fmt::runtime(value < 0 ? "({})" : "{}"), value); };
  if (type == DType::i64) {
    if (!dialect_.wide_integer.empty() && !kernel_.narrow_index && std::abs(integer) > INT32_MAX)
      return fmt::format(fmt::runtime(dialect_.wide_integer), integer);
    return signed_text(integer);
  }
  if (type == DType::boolean) return std::string(number != 0 ? dialect_.yes : dialect_.no);
  if (is_integer(type)) {
    const auto value = static_cast<int64_t>(number);
    if (!is_signed(type)) return fmt::format("{}u", value);
    return value == INT32_MIN ? "(-2147483647 - 1)" : signed_text(value);
  }
  const bool wide = type == DType::f64;
  const double value = wide ? number : round_to(type, static_cast<float>(number));
  const Dialect::Special& special = wide ? dialect_.f64 : dialect_.f32;
  if (std::isnan(value)) return std::string(special.nan);
  if (std::isinf(value)) return std::string(value < 0 ? special.minus_infinity : special.infinity);
  const std::string text = hexadecimal(value) + (wide ? "" : "f");
  return std::signbit(value) ? fmt::format("({})", text) : text;
}

// ---- statements

void KernelPrinter::block(const std::vector<Instr>& body) {
  depth_++;
  for (const Instr& instr : body) statement(instr);
  depth_--;
}

void KernelPrinter::statement(const Instr& instr) {
  const bool vector = instr.lane_varying;
  switch (instr.code) {
    case Code::constant:
      return;
    case Code::argument:
      return define(instr,
                    fmt::format(fmt::runtime(kernel_.narrow_index ? dialect_.narrow_argument : dialect_.argument),
                                instr.integer));
    case Code::tile:
      return define(instr, std::string(dialect_.tile));
    case Code::compute:
      return compute(instr);
    case Code::fma:
      return define(
          instr, fmt::format("fused({}, {}, {})", kept(instr.a, vector), kept(instr.b, vector), kept(instr.c, vector)));
    case Code::bitcast:
      return bitcast(instr);
    case Code::convert:
      return convert(instr);
    case Code::load:
    case Code::local_load:
      return load(instr);
    case Code::store:
    case Code::local_store:
      return store(instr);
    case Code::store_bits:
      return store_bits(instr);
    case Code::local:
      return local(instr);
    case Code::loop:
      return loop(instr);
    case Code::branch:
      line("if ({}) {{", kept(instr.a, false));
      block(instr.body);
      return line("}}");
    case Code::barrier:
      return barrier();
    case Code::last_block:
      return last_block(instr);
    case Code::tile_copy:
    case Code::tile_group:
    case Code::tile_wait:
    case Code::tile_mma:
    case Code::tile_store:
      return tile(instr);
    default:
      return index(instr);
  }
}

void KernelPrinter::loop(const Instr& instr) {
  if (instr.bind == Bind::lane) return lane_loop(instr);
  if (dialect_.unrolls && instr.unroll > 1) line("#pragma unroll {}", instr.unroll);
  line("for ({0} r{1} = {2}; r{1} < {3}; r{1} += {4}) {{", memory_type(DType::i64), instr.dst, kept(instr.a, false),
       kept(instr.b, false), instr.integer);
  block(instr.body);
  line("}}");
}

void KernelPrinter::store_bits(const Instr&) { throw InternalError("bits of a thread's lanes in a kernel for a CPU"); }
void KernelPrinter::barrier() { throw InternalError("a barrier of threads in a kernel for a CPU"); }
void KernelPrinter::tile(const Instr&) { throw InternalError("products of matrices in a kernel for a CPU"); }
void KernelPrinter::last_block(const Instr&) { throw InternalError("blocks of threads in a kernel for a CPU"); }

void KernelPrinter::index(const Instr& instr) {
  const bool vector = instr.lane_varying;
  const std::string a = kept(instr.a, vector), b = kept(instr.b, vector);
  const auto infix_text = [&](const char* sign) { return fmt::format("{} {} {}", a, sign, b); };
  switch (instr.code) {
    case Code::index_add:
      return define(instr, infix_text("+"));
    case Code::index_sub:
      return define(instr, infix_text("-"));
    case Code::index_mul:
      return define(instr, infix_text("*"));
    case Code::index_div:
      return define(instr, infix_text("/"));
    case Code::index_mod:
      return define(instr, infix_text("%"));
    case Code::index_lt:
      return define(instr, infix_text("<"));
    case Code::index_min:
      return define(instr, fmt::format(fmt::runtime(dialect_.index_min), a, b));
    case Code::index_max:
      return define(instr, fmt::format(fmt::runtime(dialect_.index_max), a, b));
    case Code::index_mul_add:
      return define(instr, fmt::format("{} * {} + {}", a, b, kept(instr.c, vector)));
    default:
      throw InternalError("an instruction that no printer knows");
  }
}

// ---- values

void KernelPrinter::compute(const Instr& instr) {
  if (instr.op == Op::select) return select(instr);
  if (instr.op == Op::logical_not) return invert(instr);
  const DType t = type(instr.a);
  if (is_helper_call(instr.op, t)) return call(instr, t);
  if (info(instr.op).rule == TypeRule::compare) return compare(instr, t);
  if (is_float(t)) return real(instr, t);
  integer(instr, t);
}

void KernelPrinter::call(const Instr& instr, DType t) {
  const bool vector = instr.lane_varying;
  std::string arguments = operand(instr.a, vector);
  if (instr.b != kNone) arguments += ", " + operand(instr.b, vector);
  define(instr, rounded(t, fmt::format("{}({})", info(instr.op).helper, arguments)));
}

void KernelPrinter::compare(const Instr& instr, DType) {
  define(instr, fmt::format("{} {} {}", operand(instr.a, false), info(instr.op).infix, operand(instr.b, false)));
}

void KernelPrinter::bitcast(const Instr& instr) {
  const std::string a = kept(instr.a, false);
  if (type(instr.a) == DType::f32) return define(instr, fmt::format("({})bits({})", memory_type(instr.type), a));
  if (instr.type == DType::f32) return define(instr, fmt::format("real((u32){})", a));
  define(instr, fmt::format("({}){}", memory_type(instr.type), a));
}

}  // namespace kb::ir
