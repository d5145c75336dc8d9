#include "compiler/print_cpp.h"

#include <cmath>

#include "compiler/cpp_printer.h"
#include "graph/error.h"
#include "graph/text.h"

namespace kb {
namespace cpp {

std::string_view memory_type(DType type) {
  switch (type) {
    case DType::f64:
      return "double";
    case DType::f32:
      return "float";
    case DType::bf16:
    case DType::f16:
      return "u16";
    case DType::i32:
      return "int";
    case DType::u32:
      return "u32";
    case DType::u8:
    case DType::boolean:
      return "u8";
    case DType::i64:
      return "long";
  }
  return "";
}

DType variable_type(DType type) {
  if (type == DType::bf16 || type == DType::f16) return DType::f32;
  if (type == DType::u8) return DType::u32;
  return type == DType::boolean ? DType::i32 : type;
}

std::string literal(DType type, double number, int64_t integer) {
  if (type == DType::i64) return integer < 0 ? fmt::format("({})", integer) : fmt::format("{}", integer);
  if (type == DType::boolean) return number != 0 ? "1" : "0";
  if (type == DType::i32) {
    const int64_t value = static_cast<int64_t>(number);
    if (value == INT32_MIN) return "(-2147483647 - 1)";
    return value < 0 ? fmt::format("({})", value) : fmt::format("{}", value);
  }
  if (type == DType::u32 || type == DType::u8) return fmt::format("{}u", static_cast<int64_t>(number));
  const std::string_view suffix = type == DType::f64 ? "" : "f";
  const double value = type == DType::f64 ? number : round_to(type, static_cast<float>(number));
  if (std::isnan(value)) return fmt::format("__builtin_nan{}(\"\")", suffix);
  if (std::isinf(value)) return fmt::format("({}__builtin_inf{}())", value < 0 ? "-" : "", suffix);
  const std::string text = fmt::format("{}{}", hexadecimal(value), suffix);
  return std::signbit(value) ? "(" + text + ")" : text;
}

CppPrinter::CppPrinter(const Kernel& kernel, int vector_bytes)
    : kernel_(kernel),
      vector_bytes_(vector_bytes),
      regs_(static_cast<size_t>(kernel.registers)),
      uses_buffer_(kernel.buffers.size()) {
  ensure(kernel.block_threads == 0, "a kernel for a GPU printed as C++");
  bool wide = false;
  for (const Phase& phase : kernel.phases) analyse(phase.body, wide);
  lanes_ = vector_bytes / (wide ? 8 : 4);
}

std::string CppPrinter::print() {
  line("extern \"C\" void {}(void* const* b, const long* e, long{}, long begin, long end) {{", kernel_.name,
       kernel_.phases.size() > 1 ? " phase" : "");
  depth_++;
  for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
    const BufferParam& buffer = kernel_.buffers[i];
    if (!uses_buffer_[i]) continue;
    line("{0}{1}* const b{2} = ({0}{1}*)b[{2}];", buffer.written ? "" : "const ", memory_type(buffer.dtype), i);
  }
  if (!uses_arguments_) line("(void)e;");
  if (kernel_.streaming_argument >= 0) line("const bool past_cache = e[{}] != 0;", kernel_.streaming_argument);
  for (size_t i = 0; i < kernel_.phases.size(); ++i) phase(kernel_.phases[i], i);
  if (kernel_.streaming_argument >= 0) line("if (past_cache) KB_FENCE();");
  depth_--;
  line("}}");
  return std::move(text_);
}

bool CppPrinter::is_strided(const Instr& instr) const {
  if (instr.type != DType::i64 || !instr.lane_varying) return false;
  switch (instr.code) {
    case Code::loop:
      return true;
    case Code::index_add:
    case Code::index_sub:
      return affine(instr.a) && affine(instr.b);
    case Code::index_mul:
    case Code::index_mul_add:
      return affine(instr.a) && affine(instr.b) && affine(instr.c) && !(varying(instr.a) && varying(instr.b));
    default:
      return false;
  }
}

bool CppPrinter::is_prefix(const Instr& instr) const {
  return instr.code == Code::index_lt && affine(instr.a) && !varying(instr.b) && reg(instr.a).instr->lane_varying &&
         unit_stride(instr.a);
}

bool CppPrinter::unit_stride(Reg r) const {
  const Instr& instr = *reg(r).instr;
  if (instr.code == Code::loop) return true;
  if (instr.code == Code::index_add)
    return varying(instr.a) != varying(instr.b) && unit_stride(varying(instr.a) ? instr.a : instr.b);
  return instr.code == Code::index_sub && !varying(instr.b) && unit_stride(instr.a);
}

bool CppPrinter::converts_stride(const Instr& instr) const {
  return instr.code == Code::convert && reg(instr.a).strided && (instr.type == DType::u32 || instr.type == DType::i32);
}

bool CppPrinter::rounds_when_stored(const Instr& store) const {
  if (store.code != Code::store || store.access != Access::contiguous || varying(store.c) || !varying(store.b))
    return false;
  const Instr& value = *reg(store.b).instr;
  return is_low_precision(store.type) && value.code == Code::convert && type(value.a) == DType::f32 &&
         reg(value.a).exact_in != store.type;
}

DType CppPrinter::exact_type(const Instr& instr) const {
  if (is_low_precision(instr.type)) return instr.type;
  if (instr.type != DType::f32) return DType::f64;
  if (instr.code == Code::convert) return reg(instr.a).exact_in;
  if (instr.code != Code::compute || instr.op != Op::select) return DType::f64;
  for (const DType type : {DType::bf16, DType::f16})
    if (is_exact(instr.b, type) && is_exact(instr.c, type)) return type;
  return DType::f64;
}

bool CppPrinter::is_exact(Reg r, DType type) const {
  const Instr& instr = *reg(r).instr;
  const bool known = instr.code == Code::constant && instr.type == DType::f32;
  return reg(r).exact_in == type || (known && round_to(type, instr.number) == static_cast<float>(instr.number));
}

void CppPrinter::count_uses(const Instr& instr) {
  for (Reg r : {instr.a, instr.b, instr.c})
    if (r != kNone) reg(r).uses++;
  if (rounds_when_stored(instr)) reg(instr.b).rounding_stores++;
  if (instr.code == Code::load || instr.code == Code::store) uses_buffer_[static_cast<size_t>(instr.buffer)] = true;
  uses_arguments_ |= instr.code == Code::argument;
}

void CppPrinter::analyse(const std::vector<Instr>& body, bool& wide) {
  for (const Instr& instr : body) {
    if (instr.dst != kNone) {
      reg(instr.dst).instr = &instr;
      reg(instr.dst).strided = is_strided(instr);
      reg(instr.dst).exact_in = exact_type(instr);
    }
    if (instr.code == Code::loop && instr.bind == Bind::lane) {
      const Instr& end = *reg(instr.b).instr;
      ensure(end.code == Code::constant && end.integer == kLanes, "a lane loop of a number of lanes C++ has not");
    }
    count_uses(instr);
    const bool by_lane = instr.lane_varying || instr.access != Access::uniform;
    if (by_lane && is_wide(instr.type) && !(instr.dst != kNone && reg(instr.dst).strided)) wide = true;
    const bool takes_values = instr.code == Code::compute || instr.code == Code::convert ||
                              (instr.code == Code::index_lt && !is_prefix(instr));
    if (takes_values && !converts_stride(instr))
      for (Reg r : {instr.a, instr.b, instr.c}) wide |= varying(r) && is_wide(type(r));
    analyse(instr.body, wide);
  }
}

std::string CppPrinter::memory_vector(DType t) const {
  const std::string_view stem = is_low_precision(t) ? "u16" : t == DType::boolean ? "u8" : name(t);
  return fmt::format("{}x{}", stem, lanes_);
}

std::string CppPrinter::c_type(DType t, bool vector) const {
  return vector ? vector_type(t) : std::string(memory_type(variable_type(t)));
}

std::string CppPrinter::scalar(Reg r) const {
  const Instr& instr = *reg(r).instr;
  return instr.code == Code::constant ? literal(instr.type, instr.number, instr.integer) : fmt::format("r{}", r);
}

std::string CppPrinter::operand(Reg r, bool vector) const {
  if (!vector) return scalar(r);
  if (reg(r).strided) return fmt::format("(r{} + iota_i64x{} * {})", r, lanes_, reg(r).stride);
  if (varying(r)) return fmt::format("r{}", r);
  const std::string_view minus = type(r) == DType::boolean ? "-" : "";
  return fmt::format("splat_{}({}{})", vector_type(type(r)), minus, scalar(r));
}

std::string CppPrinter::rounded(DType t, const std::string& value) const {
  return is_low_precision(t) ? fmt::format("to_{}({})", name(t), value) : value;
}

void CppPrinter::define(const Instr& instr, const std::string& value) {
  if (instr.lane_varying && instr.type == DType::i32)
    return line("const {0} r{1} = ({0})({2});", vector_type(instr.type), instr.dst, value);
  line("const {} r{} = {};", c_type(instr.type, instr.lane_varying), instr.dst, value);
}

void CppPrinter::phase(const Phase& phase, size_t number) {
  if (kernel_.phases.size() > 1) {
    line("if (phase == {})", number);
    depth_++;
  }
  line("for (long t = begin; t < end; ++t) {{");
  block(phase.body);
  line("}}");
  if (kernel_.phases.size() > 1) depth_--;
}

void CppPrinter::block(const std::vector<Instr>& body) {
  depth_++;
  for (const Instr& instr : body) statement(instr);
  depth_--;
}

void CppPrinter::statement(const Instr& instr) {
  switch (instr.code) {
    case Code::constant:
      return;
    case Code::argument:
      return define(instr, fmt::format("e[{}]", instr.integer));
    case Code::tile:
      return define(instr, "t");
    case Code::compute:
      return compute(instr);
    case Code::fma:
      return define(instr, fmt::format("fused({}, {}, {})", operand(instr.a, instr.lane_varying),
                                       operand(instr.b, instr.lane_varying), operand(instr.c, instr.lane_varying)));
    case Code::bitcast:
      return bitcast(instr);
    case Code::convert:
      if (const RegInfo& dst = reg(instr.dst); dst.uses > 0 && dst.uses == dst.rounding_stores) return;
      return define(instr, convert(instr));
    case Code::load:
    case Code::local_load:
      return load(instr);
    case Code::store:
    case Code::local_store:
      return store(instr);
    case Code::local:
      return local(instr);
    case Code::loop:
      return instr.bind == Bind::lane ? lane_loop(instr) : serial_loop(instr);
    case Code::branch:
      line("if ({}) {{", scalar(instr.a));
      block(instr.body);
      return line("}}");
    case Code::barrier:
    case Code::last_block:
      throw InternalError("a statement of GPU kernels printed as C++");
    default:
      return index(instr);
  }
}

void CppPrinter::serial_loop(const Instr& instr) {
  line("for (long r{0} = {1}; r{0} < {2}; r{0} += {3}) {{", instr.dst, scalar(instr.a), scalar(instr.b), instr.integer);
  block(instr.body);
  line("}}");
}

void CppPrinter::lane_loop(const Instr& instr) {
  const std::string valid = instr.valid == kNone ? "" : scalar(instr.valid);
  const Instr* known = instr.valid == kNone ? nullptr : reg(instr.valid).instr;
  const bool always_tail = known && known->code == Code::constant && known->integer < kLanes;
  if (known && !always_tail) {
    line("if ({} >= {}) {{", valid, kLanes);
    depth_++;
  }
  if (!always_tail) parts(instr, "");
  if (!known) return;
  if (!always_tail) {
    depth_--;
    line("}} else {{");
    depth_++;
  }
  parts(instr, valid);
  if (always_tail) return;
  depth_--;
  line("}}");
}

void CppPrinter::parts(const Instr& instr, const std::string& valid) {
  if (kLanes / lanes_ <= 2) {
    for (int first = 0; first < kLanes; first += lanes_) part(instr, std::to_string(first), valid);
  } else {
    line("for (long first = 0; first < {}; first += {})", valid.empty() ? std::to_string(kLanes) : valid, lanes_);
    depth_++;
    part(instr, "first", valid);
    depth_--;
  }
}

void CppPrinter::part(const Instr& instr, const std::string& first, const std::string& valid) {
  first_ = first;
  tail_ = !valid.empty();
  line("{}{{", tail_ && first != "first" ? fmt::format("if ({} > {}) ", valid, first) : "");
  depth_++;
  const std::string left = first == "0" ? valid : fmt::format("{} - {}", valid, first);
  if (tail_) line("const long n = {};", lanes_ == kLanes ? left : fmt::format("index_min({}, {})", left, lanes_));
  RegInfo& lane = reg(instr.dst);
  lane.stride = "1";
  if (lane.uses > 0) line("const long r{} = {};", instr.dst, first);
  depth_--;
  block(instr.body);
  line("}}");
  first_ = "0";
  tail_ = false;
}

void CppPrinter::local(const Instr& instr) {
  // A tail reads and writes whole vectors, keeping the lanes past it.
  const int64_t extent = (instr.integer + 2 * kLanes - 1) / kLanes * kLanes;
  line("{} l{}[{}] __attribute__((aligned(64)));", c_type(instr.type, false), instr.buffer, extent);
}

void CppPrinter::index(const Instr& instr) {
  if (instr.code == Code::index_lt) return less(instr);
  if (instr.lane_varying && reg(instr.dst).strided) return strided(instr);
  const bool vector = instr.lane_varying;
  const std::string a = operand(instr.a, vector), b = operand(instr.b, vector);
  switch (instr.code) {
    case Code::index_add:
      return define(instr, a + " + " + b);
    case Code::index_sub:
      return define(instr, a + " - " + b);
    case Code::index_mul:
      return define(instr, a + " * " + b);
    case Code::index_div:
      return define(instr, a + " / " + b);
    case Code::index_mod:
      return define(instr, a + " % " + b);
    case Code::index_min:
      return define(instr, fmt::format("index_min({}, {})", a, b));
    case Code::index_max:
      return define(instr, fmt::format("index_max({}, {})", a, b));
    case Code::index_mul_add:
      return define(instr, fmt::format("{} * {} + {}", a, b, operand(instr.c, vector)));
    default:
      throw InternalError("an instruction that C++ has not");
  }
}

void CppPrinter::less(const Instr& instr) {
  const std::string a = loose(instr.a), b = loose(instr.b);
  if (!instr.lane_varying) return define(instr, a + " < " + b);
  if (is_prefix(instr)) return define(instr, fmt::format("first_x{}({} - r{})", lanes_, b, instr.a));
  define(instr, fmt::format("narrow({} < {})", a, b));
}

void CppPrinter::strided(const Instr& instr) {
  const std::string a = scalar(instr.a), b = scalar(instr.b);
  std::string& own = reg(instr.dst).stride;
  const auto sum = [](const std::string& x, const std::string& y) {
    return x == "0" ? y : y == "0" ? x : fmt::format("{} + {}", x, y);
  };
  const auto product = [](const std::string& x, const std::string& y) {
    return x == "0" || y == "0" ? "0" : x == "1" ? y : y == "1" ? x : fmt::format("{} * {}", x, y);
  };
  if (instr.code == Code::index_add) {
    line("const long r{} = {} + {};", instr.dst, a, b);
    own = sum(stride(instr.a), stride(instr.b));
  } else if (instr.code == Code::index_sub) {
    line("const long r{} = {} - {};", instr.dst, a, b);
    own = stride(instr.b) == "0" ? stride(instr.a) : fmt::format("{} - {}", stride(instr.a), stride(instr.b));
  } else {
    const std::string steps = varying(instr.a) ? product(stride(instr.a), b) : product(a, stride(instr.b));
    const bool adds = instr.code == Code::index_mul_add;
    line("const long r{} = {} * {}{};", instr.dst, a, b, adds ? " + " + scalar(instr.c) : "");
    own = adds ? sum(steps, stride(instr.c)) : steps;
  }
  if (own.find(' ') == std::string::npos) return;
  line("const long r{}s = {};", instr.dst, own);
  own = fmt::format("r{}s", instr.dst);
}

}  // namespace cpp

std::string print_cpp(const ir::Kernel& kernel, int vector_bytes) {
  return cpp::CppPrinter(kernel, vector_bytes).print();
}

}  // namespace kb
