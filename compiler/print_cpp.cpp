#include "compiler/print_cpp.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "graph/error.h"

namespace kb {
namespace {

using namespace ir;

constexpr int kLanes = 16;

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

// Registers: bf16 and f16 as the f32 they stand for, u8 in 32 bits, booleans 0 or 1 (vectors: 0 or -1).
DType register_type(DType type) {
  if (type == DType::bf16 || type == DType::f16) return DType::f32;
  if (type == DType::u8) return DType::u32;
  return type == DType::boolean ? DType::i32 : type;
}

bool is_wide(DType type) { return type == DType::f64 || type == DType::i64; }

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
  return std::signbit(value) ? fmt::format("({:a}{})", value, suffix) : fmt::format("{:a}{}", value, suffix);
}

std::string infix(Op op) {
  switch (op) {
    case Op::add:
      return "+";
    case Op::sub:
      return "-";
    case Op::mul:
      return "*";
    case Op::div:
      return "/";
    case Op::eq:
      return "==";
    case Op::ne:
      return "!=";
    case Op::lt:
      return "<";
    case Op::le:
      return "<=";
    case Op::gt:
      return ">";
    case Op::ge:
      return ">=";
    case Op::bit_and:
      return "&";
    case Op::bit_or:
      return "|";
    case Op::bit_xor:
      return "^";
    default:
      return "";
  }
}

// Helpers of the prelude with scalar and vector forms.
std::string helper(Op op) {
  switch (op) {
    case Op::abs:
      return "absolute";
    case Op::sqrt:
      return "root";
    case Op::floor:
      return "round_down";
    case Op::maximum:
      return "maximum";
    case Op::minimum:
      return "minimum";
    case Op::mul_high:
      return "mul_high";
    default:
      return "";
  }
}

// What is known of a register before anything is printed. A lane-varying index that is base + lane * stride with
// uniform base and stride is printed as these two scalars: `rN` and `stride`.
struct RegInfo {
  const Instr* instr = nullptr;
  bool strided = false;
  bool used = false;
  std::string stride = "0";
};

class CppPrinter {
 public:
  CppPrinter(const Kernel& kernel, int vector_bytes)
      : kernel_(kernel),
        vector_bytes_(vector_bytes),
        regs_(static_cast<size_t>(kernel.registers)),
        uses_buffer_(kernel.buffers.size()) {
    ensure(kernel.block_threads == 0, "a kernel for a GPU printed as C++");
    bool wide = false;
    for (const Phase& phase : kernel.phases) analyse(phase.body, wide);
    lanes_ = vector_bytes / (wide ? 8 : 4);
  }

  std::string print() {
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

 private:
  // ---- before printing: which indices are strided, and whether any lane needs 64 bits ----

  RegInfo& reg(Reg r) { return regs_[static_cast<size_t>(r)]; }
  const RegInfo& reg(Reg r) const { return regs_[static_cast<size_t>(r)]; }
  DType type(Reg r) const { return reg(r).instr->type; }
  bool varying(Reg r) const { return r != kNone && reg(r).instr->lane_varying; }
  // Uniform registers are strided with stride 0.
  bool affine(Reg r) const { return r == kNone || !varying(r) || reg(r).strided; }

  bool is_strided(const Instr& instr) const {
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

  // lane < bound, the form of every mask by position.
  bool is_prefix(const Instr& instr) const {
    return instr.code == Code::index_lt && affine(instr.a) && !varying(instr.b) && reg(instr.a).instr->lane_varying &&
           unit_stride(instr.a);
  }
  bool unit_stride(Reg r) const {
    const Instr& instr = *reg(r).instr;
    if (instr.code == Code::loop) return true;
    if (instr.code == Code::index_add)
      return varying(instr.a) != varying(instr.b) && unit_stride(varying(instr.a) ? instr.a : instr.b);
    return instr.code == Code::index_sub && !varying(instr.b) && unit_stride(instr.a);
  }
  bool converts_stride(const Instr& instr) const {
    return instr.code == Code::convert && reg(instr.a).strided &&
           (instr.type == DType::u32 || instr.type == DType::i32);
  }

  void analyse(const std::vector<Instr>& body, bool& wide) {
    for (const Instr& instr : body) {
      if (instr.dst != kNone) {
        reg(instr.dst).instr = &instr;
        reg(instr.dst).strided = is_strided(instr);
      }
      if (instr.code == Code::loop && instr.bind == Bind::lane) {
        const Instr& end = *reg(instr.b).instr;
        ensure(end.code == Code::constant && end.integer == kLanes, "a lane loop of a number of lanes C++ has not");
      }
      for (Reg r : {instr.a, instr.b, instr.c})
        if (r != kNone) reg(r).used = true;
      const bool by_lane = instr.lane_varying || instr.access != Access::uniform;
      if (by_lane && is_wide(instr.type) && !(instr.dst != kNone && reg(instr.dst).strided)) wide = true;
      const bool takes_values = instr.code == Code::compute || instr.code == Code::convert ||
                                (instr.code == Code::index_lt && !is_prefix(instr));
      if (takes_values && !converts_stride(instr))
        for (Reg r : {instr.a, instr.b, instr.c}) wide |= varying(r) && is_wide(type(r));
      if (instr.code == Code::load || instr.code == Code::store) uses_buffer_[static_cast<size_t>(instr.buffer)] = true;
      uses_arguments_ |= instr.code == Code::argument;
      analyse(instr.body, wide);
    }
  }

  // ---- text ----

  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_.append(static_cast<size_t>(2 * depth_), ' ');
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }

  std::string vector_type(DType t) const { return fmt::format("{}x{}", name(register_type(t)), lanes_); }
  std::string memory_vector(DType t) const {
    const std::string_view stem = is_low_precision(t) ? "u16" : t == DType::boolean ? "u8" : name(t);
    return fmt::format("{}x{}", stem, lanes_);
  }
  std::string c_type(DType t, bool vector) const {
    return vector ? vector_type(t) : std::string(memory_type(register_type(t)));
  }

  std::string scalar(Reg r) const {
    const Instr& instr = *reg(r).instr;
    return instr.code == Code::constant ? literal(instr.type, instr.number, instr.integer) : fmt::format("r{}", r);
  }

  // The register as an operand of a vector (or scalar) operation.
  std::string operand(Reg r, bool vector) const {
    if (!vector) return scalar(r);
    if (reg(r).strided) return fmt::format("(r{} + iota_i64x{} * {})", r, lanes_, reg(r).stride);
    if (varying(r)) return fmt::format("r{}", r);
    const std::string_view minus = type(r) == DType::boolean ? "-" : "";
    return fmt::format("splat_{}({}{})", vector_type(type(r)), minus, scalar(r));
  }
  // The same where GCC broadcasts a scalar by itself.
  std::string loose(Reg r) const { return operand(r, varying(r)); }

  std::string rounded(DType t, const std::string& value) const {
    return is_low_precision(t) ? fmt::format("to_{}({})", name(t), value) : value;
  }

  void define(const Instr& instr, const std::string& value) {
    if (instr.lane_varying && instr.type == DType::i32)
      return line("const {0} r{1} = ({0})({2});", vector_type(instr.type), instr.dst, value);
    line("const {} r{} = {};", c_type(instr.type, instr.lane_varying), instr.dst, value);
  }

  // ---- structure ----

  void phase(const Phase& phase, size_t number) {
    if (kernel_.phases.size() > 1) {
      line("if (phase == {})", number);
      depth_++;
    }
    line("for (long t = begin; t < end; ++t) {{");
    block(phase.body);
    line("}}");
    if (kernel_.phases.size() > 1) depth_--;
  }

  void block(const std::vector<Instr>& body) {
    depth_++;
    for (const Instr& instr : body) statement(instr);
    depth_--;
  }

  void statement(const Instr& instr) {
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

  void serial_loop(const Instr& instr) {
    line("for (long r{0} = {1}; r{0} < {2}; r{0} += {3}) {{", instr.dst, scalar(instr.a), scalar(instr.b),
         instr.integer);
    block(instr.body);
    line("}}");
  }

  // The whole loop, and where it may end early the tail. At most two vectors are written out one after the other, so
  // that local arrays the body indexes by lane can live in registers.
  void lane_loop(const Instr& instr) {
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

  void parts(const Instr& instr, const std::string& valid) {
    if (kLanes / lanes_ <= 2) {
      for (int first = 0; first < kLanes; first += lanes_) part(instr, std::to_string(first), valid);
    } else {
      line("for (long first = 0; first < {}; first += {})", valid.empty() ? std::to_string(kLanes) : valid, lanes_);
      depth_++;
      part(instr, "first", valid);
      depth_--;
    }
  }

  // The lanes [first, first + lanes_), in a tail those below `valid`.
  void part(const Instr& instr, const std::string& first, const std::string& valid) {
    first_ = first;
    tail_ = !valid.empty();
    line("{}{{", tail_ && first != "first" ? fmt::format("if ({} > {}) ", valid, first) : "");
    depth_++;
    const std::string left = first == "0" ? valid : fmt::format("{} - {}", valid, first);
    if (tail_) line("const long n = {};", lanes_ == kLanes ? left : fmt::format("index_min({}, {})", left, lanes_));
    RegInfo& lane = reg(instr.dst);
    lane.stride = "1";
    if (lane.used) line("const long r{} = {};", instr.dst, first);
    depth_--;
    block(instr.body);
    line("}}");
    first_ = "0";
    tail_ = false;
  }

  void local(const Instr& instr) {
    // A tail reads and writes whole vectors, keeping the lanes past it.
    const int64_t extent = (instr.integer + 2 * kLanes - 1) / kLanes * kLanes;
    line("{} l{}[{}] __attribute__((aligned(64)));", c_type(instr.type, false), instr.buffer, extent);
  }

  // ---- index arithmetic ----

  void index(const Instr& instr) {
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

  void less(const Instr& instr) {
    const std::string a = loose(instr.a), b = loose(instr.b);
    if (!instr.lane_varying) return define(instr, a + " < " + b);
    if (is_prefix(instr)) return define(instr, fmt::format("first_x{}({} - r{})", lanes_, b, instr.a));
    define(instr, fmt::format("narrow({} < {})", a, b));
  }

  const std::string& stride(Reg r) const { return reg(r).stride; }

  // Base and stride of a strided result; the stride of a uniform operand is "0".
  void strided(const Instr& instr) {
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

  // ---- values ----

  void compute(const Instr& instr) {
    const bool vector = instr.lane_varying;
    if (instr.op == Op::select) return select(instr);
    if (instr.op == Op::logical_not) return define(instr, (vector ? "~" : "!") + scalar(instr.a));
    const DType t = type(instr.a);
    if (!helper(instr.op).empty() || (instr.op == Op::div && !is_float(t))) return call(instr, t);
    if (info(instr.op).rule == TypeRule::compare) return compare(instr, t);
    if (is_float(t)) return real(instr, t);
    integer(instr, t);
  }

  void select(const Instr& instr) {
    const bool vector = instr.lane_varying;
    std::string condition = scalar(instr.a);
    if (varying(instr.a) && is_wide(instr.type)) condition = fmt::format("wide({})", condition);
    define(instr, fmt::format("{} ? {} : {}", condition, operand(instr.b, vector), operand(instr.c, vector)));
  }

  void call(const Instr& instr, DType t) {
    const bool vector = instr.lane_varying;
    if (t == DType::u8 && instr.op == Op::mul_high)
      return define(instr, fmt::format("{} * {} >> 8", loose(instr.a), loose(instr.b)));
    std::string arguments = operand(instr.a, vector);
    if (instr.b != kNone) arguments += ", " + operand(instr.b, vector);
    define(instr, rounded(t, fmt::format("{}({})", instr.op == Op::div ? "divide" : helper(instr.op), arguments)));
  }

  void compare(const Instr& instr, DType t) {
    const bool vector = instr.lane_varying;
    std::string a = loose(instr.a), b = loose(instr.b);
    if (vector && t == DType::boolean)
      a = fmt::format("({} & 1)", operand(instr.a, true)), b = fmt::format("({} & 1)", operand(instr.b, true));
    const std::string value = fmt::format("{} {} {}", a, infix(instr.op), b);
    define(instr, vector && is_wide(t) ? fmt::format("narrow({})", value) : value);
  }

  void real(const Instr& instr, DType t) {
    if (instr.op == Op::neg) return define(instr, "-" + scalar(instr.a));
    if (const std::string sign = infix(instr.op); !sign.empty())
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

  // Signed arithmetic wraps, so it is written in unsigned numbers; u8 is cut to its 8 bits.
  void integer(const Instr& instr, DType t) {
    const bool vector = instr.lane_varying;
    if (instr.op == Op::shift_left || instr.op == Op::shift_right) return shift(instr, t);
    const std::string sign = instr.op == Op::neg ? "-" : infix(instr.op);
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

  std::string cut(DType t, const std::string& value, bool fits) const {
    if (fits || t == DType::u32 || t == DType::i64) return value;
    return t == DType::u8 ? fmt::format("({}) & 255u", value) : value;
  }

  // By the width or more: what shifting one by one would leave.
  void shift(const Instr& instr, DType t) {
    const bool vector = instr.lane_varying;
    const Instr& count = *reg(instr.b).instr;
    const std::string a = operand(instr.a, vector), b = operand(instr.b, vector);
    const bool left = instr.op == Op::shift_left;
    if (count.code == Code::constant && count.number >= 0 && count.number < 32) {
      const std::string whole = fmt::format("({}){}", c_type(left ? DType::u32 : t, vector), a);
      return define(instr, cut(t, fmt::format("{} {} {}", whole, left ? "<<" : ">>", count.number), !left));
    }
    define(instr, cut(t, fmt::format("shift_{}({}, {})", left ? "left" : "right", a, b), !left));
  }

  void bitcast(const Instr& instr) {
    const std::string a = scalar(instr.a);
    const DType from = type(instr.a);
    if (instr.lane_varying) return define(instr, fmt::format("({}){}", vector_type(instr.type), a));
    if (from == DType::f32) return define(instr, fmt::format("({})bits({})", memory_type(instr.type), a));
    if (instr.type == DType::f32) return define(instr, fmt::format("real((u32){})", a));
    define(instr, fmt::format("({}){}", memory_type(instr.type), a));
  }

  std::string convert(const Instr& instr) const {
    const DType from = type(instr.a), to = instr.type;
    return instr.lane_varying ? convert_vector(instr.a, from, to) : convert_scalar(scalar(instr.a), from, to);
  }

  std::string convert_scalar(const std::string& a, DType from, DType to) const {
    if (to == DType::boolean) return a + " != 0";
    if (is_float(to)) return rounded(to, from == to ? a : fmt::format("({}){}", memory_type(register_type(to)), a));
    const std::string whole = is_float(from) ? fmt::format("(long){}", a) : a;
    if (to == DType::u8) return fmt::format("(u32)({}) & 255u", whole);
    return fmt::format("({}){}", memory_type(to), whole);
  }

  std::string convert_vector(Reg r, DType from, DType to) const {
    const std::string a = operand(r, true);
    const DType have = register_type(from), want = register_type(to);
    if (reg(r).strided && (to == DType::u32 || to == DType::i32))
      return fmt::format("({0})((u32){1} + (u32x{2})iota_i32x{2} * (u32){3})", vector_type(to), scalar(r), lanes_,
                         stride(r));
    if (to == DType::boolean) return is_wide(from) ? fmt::format("narrow({} != 0)", a) : a + " != 0";
    std::string value = from == DType::boolean ? fmt::format("({} & 1)", a) : a;
    DType now = have;
    if (from == DType::u8 && is_float(to)) value = fmt::format("({}){}", vector_type(now = DType::i32), value);
    // Floats become u8 by way of i32, which holds more.
    const DType target = to == DType::u8 && is_float(from) ? DType::i32 : want;
    const auto is_bits = [](DType t) { return t == DType::i32 || t == DType::u32 || t == DType::boolean; };
    if (is_bits(now) && is_bits(target)) {
      value = fmt::format("({}){}", vector_type(target), value);
    } else if (now != target) {
      value = fmt::format("__builtin_convertvector({}, {})", value, vector_type(target));
    }
    if (to == DType::u8) return fmt::format("({}){} & 255u", vector_type(to), value);
    return rounded(to, value);
  }

  // ---- memory ----

  bool in_local(const Instr& instr) const { return instr.code == Code::local_load || instr.code == Code::local_store; }
  std::string array(const Instr& instr) const { return fmt::format("{}{}", in_local(instr) ? 'l' : 'b', instr.buffer); }

  // Index of the first lane of this part, or of lane `l`.
  std::string first_index(const Instr& instr) const {
    const std::string a = scalar(instr.a);
    if (instr.access != Access::contiguous || first_ == "0") return a;
    return a == "0" ? first_ : fmt::format("{} + {}", a, first_);
  }
  std::string lane_index(const Instr& instr) const {
    if (instr.access == Access::uniform) return scalar(instr.a);
    if (instr.access == Access::contiguous) return first_index(instr) + " + l";
    if (!reg(instr.a).strided) return fmt::format("r{}[l]", instr.a);
    return fmt::format("r{} + l * {}", instr.a, stride(instr.a));
  }

  std::string place(const Instr& instr) const {
    const std::string index = first_index(instr);
    return index == "0" ? array(instr) : fmt::format("{} + {}", array(instr), index);
  }

  // One element as a scalar register.
  std::string element(const Instr& instr, const std::string& at) const {
    const std::string memory = array(instr);
    if (in_local(instr))
      return instr.type == DType::boolean ? fmt::format("{}[{}] & 1", memory, at) : fmt::format("{}[{}]", memory, at);
    if (is_low_precision(instr.type)) return fmt::format("load_{}({} + {})", name(instr.type), memory, at);
    return instr.type == DType::boolean ? fmt::format("{}[{}] != 0", memory, at) : fmt::format("{}[{}]", memory, at);
  }

  // A vector in memory's form to a register, and back.
  std::string widened(const Instr& instr, const std::string& value) const {
    if (in_local(instr)) return value;
    if (instr.type == DType::boolean) return fmt::format("widen_bool({})", value);
    const bool narrow = is_low_precision(instr.type) || instr.type == DType::u8;
    return narrow ? fmt::format("widen_{}({})", name(instr.type), value) : value;
  }
  std::string narrowed(const Instr& instr, const std::string& value) const {
    if (in_local(instr)) return value;
    if (instr.type == DType::boolean) return fmt::format("narrow_bool({})", value);
    const bool narrow = is_low_precision(instr.type) || instr.type == DType::u8;
    return narrow ? fmt::format("narrow_{}({})", name(instr.type), value) : value;
  }

  std::string whole(const Instr& instr, std::string_view qualifier) const {
    const std::string vector = in_local(instr) ? vector_type(instr.type) : memory_vector(instr.type);
    return fmt::format("*({}{}m*)({})", qualifier, vector, place(instr));
  }

  void load(const Instr& instr) {
    const Reg where = instr.b;
    if (!instr.lane_varying) {
      const std::string value = element(instr, scalar(instr.a));
      if (where == kNone) return define(instr, value);
      return define(instr, fmt::format("{} ? {} : {}", scalar(where), value, literal(instr.type, instr.number, 0)));
    }
    if (instr.access != Access::contiguous || varying(where)) return load_by_lane(instr);
    std::string value =
        widened(instr, tail_ && !in_local(instr) ? fmt::format("load_part_x{}({}, n)", lanes_, place(instr))
                                                 : whole(instr, "const "));
    if (where != kNone) value = fmt::format("{} ? {} : {}", scalar(where), value, splat_number(instr));
    define(instr, value);
  }

  std::string splat_number(const Instr& instr) const {
    const std::string value = literal(instr.type, instr.number, 0);
    return fmt::format("splat_{}({}{})", vector_type(instr.type), instr.type == DType::boolean ? "-" : "", value);
  }

  std::string lane_count() const { return tail_ ? "n" : std::to_string(lanes_); }

  void load_by_lane(const Instr& instr) {
    line("{} r{} = {};", vector_type(instr.type), instr.dst, splat_number(instr));
    std::string condition;
    if (instr.b != kNone)
      condition = fmt::format("if ({}) ", varying(instr.b) ? scalar(instr.b) + "[l]" : scalar(instr.b));
    const std::string value = element(instr, lane_index(instr));
    line("for (long l = 0; l < {}; ++l) {}r{}[l] = {};", lane_count(), condition, instr.dst,
         instr.type == DType::boolean ? fmt::format("-({})", value) : value);
  }

  void store(const Instr& instr) {
    const std::string condition = instr.c != kNone && !varying(instr.c) ? fmt::format("if ({}) ", scalar(instr.c)) : "";
    if (instr.access == Access::uniform)
      return line("{}{};", condition, store_element(instr, scalar(instr.a), scalar(instr.b)));
    if (instr.access != Access::contiguous || varying(instr.c)) return store_by_lane(instr);
    const std::string value = narrowed(instr, operand(instr.b, true));
    const std::string at = place(instr);
    if (tail_ && in_local(instr)) {
      const std::string first = fmt::format("first_x{}(n)", lanes_),
                        keep = is_wide(instr.type) ? fmt::format("wide({})", first) : first;
      line("{}{} = {} ? {} : {};", condition, whole(instr, ""), keep, value, whole(instr, "const "));
    } else if (tail_) {
      line("{}store_part({}, {}, n);", condition, at, value);
    } else if (instr.streaming && kernel_.streaming_argument >= 0 && can_stream(instr.type)) {
      line("{}stream({}, {}, past_cache);", condition, at, value);
    } else {
      line("{}{} = {};", condition, whole(instr, ""), value);
    }
  }

  bool can_stream(DType t) const { return vector_bytes_ > 16 && lanes_ * size_of(t) >= 16; }

  std::string store_element(const Instr& instr, const std::string& at, const std::string& value) const {
    const std::string memory = array(instr);
    if (!in_local(instr) && is_low_precision(instr.type))
      return fmt::format("store_{}({} + {}, {})", name(instr.type), memory, at, value);
    if (in_local(instr)) {
      const std::string_view minus = instr.type == DType::boolean ? "-" : "";
      return fmt::format("{}[{}] = {}{}", memory, at, minus, value);
    }
    const std::string cast = size_of(instr.type) == 1 ? "(u8)" : "";
    return fmt::format("{}[{}] = {}{}", memory, at, cast, value);
  }

  void store_by_lane(const Instr& instr) {
    std::string condition, value = scalar(instr.b);
    if (instr.c != kNone)
      condition = fmt::format("if ({}) ", varying(instr.c) ? scalar(instr.c) + "[l]" : scalar(instr.c));
    if (varying(instr.b)) value = instr.type == DType::boolean ? fmt::format("(r{}[l] & 1)", instr.b) : value + "[l]";
    line("for (long l = 0; l < {}; ++l) {}{};", lane_count(), condition,
         store_element(instr, lane_index(instr), value));
  }

  const Kernel& kernel_;
  int vector_bytes_;
  int lanes_ = kLanes;
  std::vector<RegInfo> regs_;
  std::vector<bool> uses_buffer_;
  bool uses_arguments_ = false;
  std::string text_;
  int depth_ = 0;
  std::string first_ = "0";  // lane of the loop at which the vector being printed begins
  bool tail_ = false;
};

}  // namespace

std::string print_cpp(const ir::Kernel& kernel, int vector_bytes) { return CppPrinter(kernel, vector_bytes).print(); }

}  // namespace kb
