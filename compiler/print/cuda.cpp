#include "compiler/print/cuda.h"

#include "compiler/print/cuda_printer.h"
#include "graph/error.h"

namespace kb {
namespace cuda {

namespace {

constexpr Dialect kDialect = {
    .types = {{"double", "float", "bf16", "f16", "int", "u32", "u8", "bool", "long long"}},
    .narrow_index_type = "int",
    .argument = "e{}",
    .narrow_argument = "(int)e{}",
    .wide_integer = "({}ll)",
    .no = "false",
    .yes = "true",
    .f64 = {"(double)real(0x7fc00000u)", "(double)real(0x7f800000u)", "(double)real(0xff800000u)"},
    .f32 = {"real(0x7fc00000u)", "real(0x7f800000u)", "real(0xff800000u)"},
    .tile = "blockIdx.x",
    // Indices need no choose() (cuda_prelude.cpp says what it is for), because they are compared by < alone, and no
    // maximum of 0 and another minimum or maximum is taken.
    .index_min = "{0} < {1} ? {0} : {1}",
    .index_max = "{0} > {1} ? {0} : {1}",
    .unrolls = true,
};

}  // namespace

CudaPrinter::CudaPrinter(const Kernel& kernel)
    : KernelPrinter(kernel, kDialect), regs_(static_cast<size_t>(kernel.registers)) {
  ensure(kernel.block_threads > 0 && kernel.phases.size() == 1, "a kernel for a CPU printed as CUDA C++");
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
    list +=
        fmt::format("{}{}{}* b{}", i == 0 ? "" : ", ", buffer.written ? "" : "const ", memory_type(buffer.dtype), i);
  }
  for (int32_t i = 0; i < kernel_.arguments; ++i) list += fmt::format("{}long long e{}", list.empty() ? "" : ", ", i);
  line("extern \"C\" __global__ void __launch_bounds__({}{}) {}({}) {{", kernel_.block_threads,
       kernel_.resident > 0 ? fmt::format(", {}", kernel_.resident) : "", kernel_.name, list);
}

// ---- pieces ----

bool CudaPrinter::whole_vector(const Instr& instr) const {
  if (instr.code == Code::store_bits) return true;
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
    case Code::store_bits:
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
    if (varying(r) && reg(r).piece != piece && definition(r).code != Code::loop) reg(r).array = true;
}

// ---- text ----

// Returns "bf16{0x3f80}" for 1: the bits themselves, so that nothing is converted when the kernel runs.
std::string CudaPrinter::low_literal(DType type, double number) const {
  const auto value = static_cast<float>(number);
  return fmt::format("{}{{{:#06x}}}", name(type), type == DType::bf16 ? float_to_bf16(value) : float_to_f16(value));
}

std::string CudaPrinter::rounded(DType type, const std::string& value) const {
  if (is_low_precision(type)) return fmt::format("round_{}({})", name(type), value);
  return is_narrow(type) ? fmt::format("({})({})", memory_type(type), value) : value;
}

std::string CudaPrinter::kept(Reg r) const {
  const Instr& instr = definition(r);
  if (instr.code == Code::constant && is_low_precision(instr.type)) return low_literal(instr.type, instr.number);
  if (instr.code == Code::constant) return rounded(instr.type, literal(instr.type, instr.number, instr.integer));
  if (r == lane_) return "l";
  return fmt::format("r{}{}", r, reg(r).array ? "[l]" : "");
}

std::string CudaPrinter::operand(Reg r) const {
  const Instr& instr = definition(r);
  if (instr.code == Code::constant) return literal(instr.type, instr.number, instr.integer);
  if (is_low_precision(instr.type)) return fmt::format("widen({})", kept(r));
  return is_narrow(instr.type) ? fmt::format("({}){}", memory_type(promoted(instr.type)), kept(r)) : kept(r);
}

void CudaPrinter::define(const Instr& instr, const std::string& value) {
  if (reg(instr.dst).array) return line("r{}[l] = {};", instr.dst, value);
  line("const {} r{} = {};", memory_type(instr.type), instr.dst, value);
}

// ---- structure ----

void CudaPrinter::block(const std::vector<Instr>& body) {
  if (lane_ != kNone) return lane_block(body);
  KernelPrinter::block(body);
}

void CudaPrinter::loop(const Instr& instr) {
  if (instr.bind == Bind::thread) return thread_loop(instr);
  KernelPrinter::loop(instr);
}

void CudaPrinter::thread_loop(const Instr& instr) {
  line("{{");
  depth_++;
  line("const {} r{} = threadIdx.x;", memory_type(DType::i64), instr.dst);
  depth_--;
  block(instr.body);
  line("}}");
}

void CudaPrinter::lane_loop(const Instr& instr) {
  lanes_ = definition(instr.b).integer;
  lane_ = instr.dst;
  if (instr.valid != kNone) valid_ = kept(instr.valid);
  line("{}{{", valid_.empty() || instr.part ? "" : fmt::format("if ({} > 0) ", valid_));
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
    if (instr.dst != kNone && reg(instr.dst).array) line("{} r{}[{}];", memory_type(instr.type), instr.dst, lanes_);
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

// Prints a body that only the last block to arrive runs. The fences let it see whatever the other blocks wrote before.
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
  if (instr.storage == Storage::accumulators) return accumulators(instr);
  if (instr.storage != Storage::register_) return block_storage(instr);
  line("{} l{}[{}];", memory_type(instr.type), instr.buffer, instr.integer);
}

}  // namespace cuda

std::string print_cuda(const ir::Kernel& kernel) { return cuda::CudaPrinter(kernel).print(); }

}  // namespace kb
