#include "compiler/print/cpp.h"

#include "compiler/print/cpp_printer.h"
#include "graph/error.h"

namespace kb {
namespace cpp {

namespace {

constexpr Dialect kDialect = {
    .types = {{"double", "float", "u16", "u16", "int", "u32", "u8", "u8", "long"}},
    .narrow_index_type = "long",
    .argument = "e[{}]",
    .narrow_argument = "e[{}]",
    .wide_integer = "",
    .no = "0",
    .yes = "1",
    .f64 = {"__builtin_nan(\"\")", "(__builtin_inf())", "(-__builtin_inf())"},
    .f32 = {"__builtin_nanf(\"\")", "(__builtin_inff())", "(-__builtin_inff())"},
    .tile = "t",
    .index_min = "index_min({}, {})",
    .index_max = "index_max({}, {})",
    .unrolls = false,
};

}  // namespace

DType variable_type(DType type) {
  if (is_low_precision(type)) return DType::f32;
  return type == DType::boolean ? DType::i32 : promoted(type);
}

CppPrinter::CppPrinter(const Kernel& kernel, int vector_bytes)
    : KernelPrinter(kernel, kDialect),
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
  return instr.code == Code::index_lt && affine(instr.a) && !varying(instr.b) && definition(instr.a).lane_varying &&
         unit_stride(instr.a);
}

bool CppPrinter::unit_stride(Reg r) const {
  const Instr& instr = definition(r);
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
  const Instr& value = definition(store.b);
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
  const Instr& instr = definition(r);
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
      reg(instr.dst).strided = is_strided(instr);
      reg(instr.dst).exact_in = exact_type(instr);
    }
    if (instr.code == Code::loop && instr.bind == Bind::lane) {
      const Instr& end = definition(instr.b);
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
  if (size_of(t) < 4) return fmt::format("u{}x{}", 8 * size_of(t), lanes_);
  return fmt::format("{}x{}", name(t), lanes_);
}

std::string CppPrinter::c_type(DType t, bool vector) const {
  return vector ? vector_type(t) : std::string(memory_type(variable_type(t)));
}

std::string CppPrinter::scalar(Reg r) const {
  const Instr& instr = definition(r);
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
  return is_encoded(t) ? fmt::format("to_{}({})", name(t), value) : value;
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

void CppPrinter::lane_loop(const Instr& instr) {
  const bool may_be_whole = !instr.part, may_be_part = instr.valid != kNone;
  const std::string valid = may_be_part ? scalar(instr.valid) : "";
  const bool both = may_be_whole && may_be_part;
  if (both) {
    line("if ({} >= {}) {{", valid, kLanes);
    depth_++;
  }
  if (may_be_whole) parts(instr, "");
  if (both) {
    depth_--;
    line("}} else {{");
    depth_++;
  }
  if (may_be_part) parts(instr, valid);
  if (!both) return;
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
  const bool always = !tail_ || first == "first" || (first == "0" && instr.part);
  line("{}{{", always ? "" : fmt::format("if ({} > {}) ", valid, first));
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
  // A tail reads and writes whole vectors and keeps the values of the lanes past its end, so the array has room for
  // them.
  const int64_t extent = (instr.integer + 2 * kLanes - 1) / kLanes * kLanes;
  line("{} l{}[{}] __attribute__((aligned(64)));", c_type(instr.type, false), instr.buffer, extent);
}

void CppPrinter::index(const Instr& instr) {
  if (instr.code == Code::index_lt) return less(instr);
  if (instr.lane_varying && reg(instr.dst).strided) return strided(instr);
  KernelPrinter::index(instr);
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
