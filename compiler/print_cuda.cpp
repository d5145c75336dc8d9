#include "compiler/print_cuda.h"

#include <cmath>

#include "compiler/cuda_printer.h"
#include "graph/error.h"
#include "graph/text.h"

namespace kb {
namespace cuda {

CudaPrinter::CudaPrinter(const Kernel& kernel) : kernel_(kernel), regs_(static_cast<size_t>(kernel.registers)) {
  ensure(kernel.block_threads > 0 && kernel.phases.size() == 1, "a kernel for a CPU printed as CUDA C++");
  find_registers(kernel.phases[0].body);
  find_pieces(kernel.phases[0].body, false);
}

std::string CudaPrinter::print() {
  parameters();
  block(kernel_.phases[0].body);
  line("}}");
  return std::move(text_);
}

void CudaPrinter::parameters() {
  std::string list;
  for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
    const BufferParam& buffer = kernel_.buffers[i];
    list += fmt::format("{}{}{}* b{}", i == 0 ? "" : ", ", buffer.written ? "" : "const ", c_type(buffer.dtype), i);
  }
  for (int32_t i = 0; i < kernel_.arguments; ++i) list += fmt::format("{}long long e{}", list.empty() ? "" : ", ", i);
  line("extern \"C\" __global__ void __launch_bounds__({}{}) {}({}) {{", kernel_.block_threads,
       kernel_.alone ? ", 1" : "", kernel_.name, list);
}

// ---- pieces ----

void CudaPrinter::find_registers(const std::vector<Instr>& body) {
  for (const Instr& instr : body) {
    if (instr.dst != kNone) reg(instr.dst).instr = &instr;
    find_registers(instr.body);
  }
}

bool CudaPrinter::whole_vector(const Instr& instr) const {
  if (!instr.aligned || instr.access != Access::contiguous) return false;
  if (instr.code == Code::load) return kernel_.buffers[static_cast<size_t>(instr.buffer)].aligned && !varying(instr.b);
  if (instr.code == Code::store) return kernel_.buffers[static_cast<size_t>(instr.buffer)].aligned && !varying(instr.c);
  return in_local(instr) && instr.storage == Storage::block;
}

bool CudaPrinter::by_lane(const Instr& instr) const {
  if (instr.code == Code::loop || instr.code == Code::branch || whole_vector(instr)) return false;
  return instr.lane_varying || instr.access != Access::uniform;
}

bool CudaPrinter::moves_up(const Instr& instr) const {
  switch (instr.code) {
    case Code::loop:
    case Code::branch:
    case Code::store:
    case Code::local_store:
    case Code::local_load:
      return false;
    case Code::load:
      return !kernel_.buffers[static_cast<size_t>(instr.buffer)].written;
    default:
      return true;
  }
}

void CudaPrinter::find_pieces(const std::vector<Instr>& body, bool in_lanes) {
  bool open = false, stores = false;
  for (const Instr& instr : body) {
    const bool own = in_lanes && by_lane(instr);
    if (own) {
      if (!open) piece_count_++;
      stores = (open && stores) || instr.code == Code::store || instr.code == Code::local_store;
      open = true;
      pieces_[&instr] = piece_count_;
      if (instr.dst != kNone) reg(instr.dst).piece = piece_count_;
    } else {
      open = open && moves_up(instr) && !(stores && instr.code == Code::load);
      if (open) moved_up_.insert(&instr);
    }
    note_uses(instr, own ? piece_count_ : 0);
    if (!instr.body.empty()) find_pieces(instr.body, in_lanes || instr.bind == Bind::lane);
  }
}

void CudaPrinter::note_uses(const Instr& instr, int piece) {
  if (instr.dst != kNone && instr.lane_varying && whole_vector(instr)) reg(instr.dst).array = true;
  for (Reg r : {instr.a, instr.b, instr.c})
    if (varying(r) && reg(r).piece != piece && reg(r).instr->code != Code::loop) reg(r).array = true;
}

// ---- text ----

std::string_view CudaPrinter::c_type(DType type) const {
  switch (type) {
    case DType::f64:
      return "double";
    case DType::f32:
      return "float";
    case DType::bf16:
      return "bf16";
    case DType::f16:
      return "f16";
    case DType::i32:
      return "int";
    case DType::u32:
      return "u32";
    case DType::u8:
      return "u8";
    case DType::boolean:
      return "bool";
    case DType::i64:
      return kernel_.narrow_index ? "int" : "long long";
  }
  return "";
}

std::string CudaPrinter::literal(DType type, double number, int64_t integer) const {
  switch (type) {
    case DType::i64:
      if (!kernel_.narrow_index && std::abs(integer) > INT32_MAX) return fmt::format("({}ll)", integer);
      return integer < 0 ? fmt::format("({})", integer) : fmt::format("{}", integer);
    case DType::boolean:
      return number != 0 ? "true" : "false";
    case DType::i32: {
      const auto value = static_cast<int64_t>(number);
      if (value == INT32_MIN) return "(-2147483647 - 1)";
      return value < 0 ? fmt::format("({})", value) : fmt::format("{}", value);
    }
    case DType::u32:
    case DType::u8:
      return fmt::format("{}u", static_cast<int64_t>(number));
    default:
      break;
  }
  const bool wide = type == DType::f64;
  const double value = wide ? number : round_to(type, static_cast<float>(number));
  const std::string_view cast = wide ? "(double)" : "";
  if (std::isnan(value)) return fmt::format("{}real(0x7fc00000u)", cast);
  if (std::isinf(value)) return fmt::format("{}real(0x{}f800000u)", cast, value < 0 ? 'f' : '7');
  const std::string text = hexadecimal(value) + (wide ? "" : "f");
  return std::signbit(value) ? fmt::format("({})", text) : text;
}

// "bf16{0x3f80}": no conversion when it runs.
std::string CudaPrinter::low_literal(DType type, double number) const {
  const auto value = static_cast<float>(number);
  return fmt::format("{}{{{:#06x}}}", name(type), type == DType::bf16 ? float_to_bf16(value) : float_to_f16(value));
}

std::string CudaPrinter::as_kept(DType type, const std::string& value) const {
  if (is_low_precision(type)) return fmt::format("round_{}({})", name(type), value);
  return type == DType::u8 ? fmt::format("(u8)({})", value) : value;
}

std::string CudaPrinter::kept(Reg r) const {
  const Instr& instr = *reg(r).instr;
  if (instr.code == Code::constant && is_low_precision(instr.type)) return low_literal(instr.type, instr.number);
  if (instr.code == Code::constant) return as_kept(instr.type, literal(instr.type, instr.number, instr.integer));
  if (r == lane_) return "l";
  return fmt::format("r{}{}", r, reg(r).array ? "[l]" : "");
}

std::string CudaPrinter::operand(Reg r) const {
  const Instr& instr = *reg(r).instr;
  if (instr.code == Code::constant) return literal(instr.type, instr.number, instr.integer);
  if (is_low_precision(instr.type)) return fmt::format("widen({})", kept(r));
  return instr.type == DType::u8 ? "(u32)" + kept(r) : kept(r);
}

void CudaPrinter::define(const Instr& instr, const std::string& value) {
  if (reg(instr.dst).array) return line("r{}[l] = {};", instr.dst, value);
  line("const {} r{} = {};", c_type(instr.type), instr.dst, value);
}

// ---- structure ----

void CudaPrinter::block(const std::vector<Instr>& body) {
  if (lane_ != kNone) return lane_block(body);
  depth_++;
  for (const Instr& instr : body) statement(instr);
  depth_--;
}

void CudaPrinter::statement(const Instr& instr) {
  switch (instr.code) {
    case Code::constant:
      return;
    case Code::argument:
      return define(instr, fmt::format("{}e{}", kernel_.narrow_index ? "(int)" : "", instr.integer));
    case Code::tile:
      return define(instr, "blockIdx.x");
    case Code::compute:
      return compute(instr);
    case Code::fma:
      return define(instr, fmt::format("fused({}, {}, {})", kept(instr.a), kept(instr.b), kept(instr.c)));
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
      return loop(instr);
    case Code::branch:
      line("if ({}) {{", kept(instr.a));
      block(instr.body);
      return line("}}");
    case Code::barrier:
      return line("__syncthreads();");
    case Code::last_block:
      return last_block(instr);
    default:
      return index(instr);
  }
}

void CudaPrinter::loop(const Instr& instr) {
  if (instr.bind == Bind::thread) return thread_loop(instr);
  if (instr.bind == Bind::lane) return lane_loop(instr);
  if (instr.unroll > 1) line("#pragma unroll {}", instr.unroll);
  line("for ({0} r{1} = {2}; r{1} < {3}; r{1} += {4}) {{", c_type(DType::i64), instr.dst, kept(instr.a), kept(instr.b),
       instr.integer);
  block(instr.body);
  line("}}");
}

void CudaPrinter::thread_loop(const Instr& instr) {
  line("{{");
  depth_++;
  line("const {} r{} = threadIdx.x;", c_type(DType::i64), instr.dst);
  depth_--;
  block(instr.body);
  line("}}");
}

void CudaPrinter::lane_loop(const Instr& instr) {
  lanes_ = reg(instr.b).instr->integer;
  lane_ = instr.dst;
  if (instr.valid != kNone) valid_ = kept(instr.valid);
  line("{}{{", valid_.empty() ? "" : fmt::format("if ({} > 0) ", valid_));
  lane_block(instr.body);
  line("}}");
  lane_ = kNone;
  valid_.clear();
}

void CudaPrinter::lane_block(const std::vector<Instr>& body) {
  depth_++;
  Piece piece;
  for (const Instr& instr : body) {
    const auto at = pieces_.find(&instr);
    if (at == pieces_.end()) {
      if (!moved_up_.contains(&instr)) close(piece);
      statement(instr);
      continue;
    }
    if (at->second != piece.number) close(piece);
    piece.number = at->second;
    if (instr.dst != kNone && reg(instr.dst).array) line("{} r{}[{}];", c_type(instr.type), instr.dst, lanes_);
    std::swap(text_, piece.text);
    depth_++;
    statement(instr);
    depth_--;
    std::swap(text_, piece.text);
  }
  close(piece);
  depth_--;
}

void CudaPrinter::close(Piece& piece) {
  if (piece.number == 0) return;
  line("#pragma unroll");
  line("for (int l = 0; l < {}; ++l) {}{{", lanes_, valid_.empty() ? "" : fmt::format("if (l < {}) ", valid_));
  text_ += piece.text;
  line("}}");
  piece = {};
}

// Whatever the blocks wrote before is seen by the one that counts last.
void CudaPrinter::last_block(const Instr& instr) {
  const int32_t b = instr.buffer;
  line("__threadfence();");
  line("__syncthreads();");
  line("__shared__ bool last{};", b);
  line("if (threadIdx.x == 0) last{0} = atomicInc(b{0} + {1}, (u32){2} - 1) == (u32){2} - 1;", b, kept(instr.a),
       kept(instr.b));
  line("__syncthreads();");
  line("if (last{}) {{", b);
  depth_++;
  line("__threadfence();");
  depth_--;
  block(instr.body);
  line("}}");
}

void CudaPrinter::local(const Instr& instr) {
  const bool shared = instr.storage == Storage::block;
  line("{}{} l{}[{}];", shared ? "alignas(16) __shared__ " : "", c_type(instr.type), instr.buffer, instr.integer);
}

// Its extrema need no choose(): indices are compared by < alone, and no maximum with 0 is taken of another extremum.
void CudaPrinter::index(const Instr& instr) {
  const std::string a = kept(instr.a), b = kept(instr.b);
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
      return define(instr, fmt::format("{0} < {1} ? {0} : {1}", a, b));
    case Code::index_max:
      return define(instr, fmt::format("{0} > {1} ? {0} : {1}", a, b));
    case Code::index_lt:
      return define(instr, a + " < " + b);
    case Code::index_mul_add:
      return define(instr, fmt::format("{} * {} + {}", a, b, kept(instr.c)));
    default:
      throw InternalError("an instruction that CUDA C++ has not");
  }
}

}  // namespace cuda

std::string print_cuda(const ir::Kernel& kernel) { return cuda::CudaPrinter(kernel).print(); }

}  // namespace kb
