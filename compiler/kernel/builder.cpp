#include "compiler/kernel/builder.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "graph/error.h"

namespace kb::ir {
namespace {

bool is_compare(Op op) { return info(op).rule == TypeRule::compare || op == Op::logical_not; }

}  // namespace

bool Builder::Key::operator==(const Key& o) const {
  const Instr &x = instr, &y = o.instr;
  return x.code == y.code && x.type == y.type && x.a == y.a && x.b == y.b && x.c == y.c && x.op == y.op &&
         std::bit_cast<uint64_t>(x.number) == std::bit_cast<uint64_t>(y.number) && x.integer == y.integer &&
         x.buffer == y.buffer && x.access == y.access;
}

size_t Builder::KeyHash::operator()(const Key& key) const {
  const Instr& x = key.instr;
  uint64_t hash = 0xcbf29ce484222325u;
  for (uint64_t part :
       {static_cast<uint64_t>(x.code), static_cast<uint64_t>(x.type), static_cast<uint64_t>(x.a),
        static_cast<uint64_t>(x.b), static_cast<uint64_t>(x.c), static_cast<uint64_t>(x.op),
        std::bit_cast<uint64_t>(x.number), static_cast<uint64_t>(x.integer), static_cast<uint64_t>(x.buffer)})
    hash = (hash ^ part) * 0x9e3779b97f4a7c15u, hash ^= hash >> 29;
  return static_cast<size_t>(hash);
}

Builder::Builder(std::string kind, int64_t lanes, int64_t block_threads) : lanes_(lanes) {
  kernel_.kind = std::move(kind);
  kernel_.block_threads = block_threads;
}

std::optional<int64_t> Builder::literal(Reg reg) const {
  const RegInfo& set = info_[static_cast<size_t>(reg)];
  if (set.code != Code::constant || set.type != DType::i64) return {};
  return set.integer;
}

std::optional<double> Builder::number(Reg reg) const {
  const RegInfo& set = info_[static_cast<size_t>(reg)];
  if (set.code != Code::constant || set.type == DType::i64) return {};
  return set.number;
}

bool Builder::alive(Reg reg) const {
  const RegInfo& reg_info = info_[static_cast<size_t>(reg)];
  return reg_info.depth <= depth() && blocks_[static_cast<size_t>(reg_info.depth)].number == reg_info.block;
}

bool Builder::in_lanes() const {
  return std::any_of(blocks_.begin(), blocks_.end(), [](const Block& block) { return block.lane; });
}

int32_t Builder::add_buffer(const BufferParam& param) {
  kernel_.buffers.push_back(param);
  return static_cast<int32_t>(kernel_.buffers.size()) - 1;
}

void Builder::phase(const std::function<void()>& body) {
  ensure(blocks_.empty(), "a phase inside a phase");
  open(true, false);
  body();
  kernel_.phases.push_back({close()});
}

Kernel Builder::finish() {
  kernel_.registers = static_cast<int32_t>(info_.size());
  tidy(kernel_);
  return std::move(kernel_);
}

// ---- values ----

Reg Builder::constant(DType type, double value) {
  if (type == DType::i64) return index(static_cast<int64_t>(value));
  return pure({.code = Code::constant, .type = type, .number = value});
}

Reg Builder::compute(Op op, Reg a, Reg b, Reg c) {
  if (const Reg known = rewritten_comparison(op, a, b); known != kNone) return known;
  const DType result = is_compare(op) ? DType::boolean : type(op == Op::select ? b : a);
  return pure({.code = Code::compute, .type = result, .a = a, .b = b, .c = c, .op = op});
}

Reg Builder::fma(Reg a, Reg b, Reg c) { return pure({.code = Code::fma, .type = type(a), .a = a, .b = b, .c = c}); }

Reg Builder::bitcast(DType to, Reg a) { return type(a) == to ? a : pure({.code = Code::bitcast, .type = to, .a = a}); }

Reg Builder::convert(DType to, Reg a) {
  if (type(a) == to) return a;
  if (const Reg equal = is_low_precision(to) ? equal_in(to, a) : info_[static_cast<size_t>(a)].wide;
      equal != kNone && alive(equal))
    return equal;
  const Reg result = pure({.code = Code::convert, .type = to, .a = a});
  if (is_low_precision(type(a)) && to == DType::f32) info_[static_cast<size_t>(result)].narrow = a;
  return result;
}

// ---- index arithmetic ----

Reg Builder::index(int64_t value) { return pure({.code = Code::constant, .type = DType::i64, .integer = value}); }

Reg Builder::argument(int64_t number) { return pure({.code = Code::argument, .type = DType::i64, .integer = number}); }

Reg Builder::tile() { return pure({.code = Code::tile, .type = DType::i64}); }

Reg Builder::index_op(Code code, Reg a, Reg b, DType result) {
  return pure({.code = code, .type = result, .a = a, .b = b});
}

Reg Builder::add(Reg a, Reg b) {
  const std::optional<int64_t> x = literal(a), y = literal(b);
  if (x && y) return index(*x + *y);
  if (x == 0) return b;
  return y == 0 ? a : index_op(Code::index_add, a, b);
}

Reg Builder::sub(Reg a, Reg b) {
  const std::optional<int64_t> x = literal(a), y = literal(b);
  if (x && y) return index(*x - *y);
  if (y == 0) return a;
  return a == b ? index(0) : index_op(Code::index_sub, a, b);
}

Reg Builder::mul(Reg a, Reg b) {
  const std::optional<int64_t> x = literal(a), y = literal(b);
  if (x && y) return index(*x * *y);
  if (x == 0 || y == 1) return a;
  return y == 0 || x == 1 ? b : index_op(Code::index_mul, a, b);
}

Reg Builder::mul_add(Reg a, Reg b, Reg c) {
  const std::optional<int64_t> y = literal(b);
  if (literal(a) || literal(c) || y == 0 || y == 1) return add(mul(a, b), c);
  return pure({.code = Code::index_mul_add, .type = DType::i64, .a = a, .b = b, .c = c});
}

Reg Builder::div(Reg a, Reg b) {
  const std::optional<int64_t> x = literal(a), y = literal(b);
  if (y == 1) return a;
  return x && y ? index(*x / *y) : index_op(Code::index_div, a, b);
}

Reg Builder::mod(Reg a, Reg b) {
  const std::optional<int64_t> x = literal(a), y = literal(b);
  if (y == 1) return index(0);
  return x && y ? index(*x % *y) : index_op(Code::index_mod, a, b);
}

Reg Builder::min(Reg a, Reg b) {
  const std::optional<int64_t> x = literal(a), y = literal(b);
  if (a == b) return a;
  return x && y ? index(std::min(*x, *y)) : index_op(Code::index_min, a, b);
}

Reg Builder::max(Reg a, Reg b) {
  const std::optional<int64_t> x = literal(a), y = literal(b);
  if (a == b) return a;
  return x && y ? index(std::max(*x, *y)) : index_op(Code::index_max, a, b);
}

Reg Builder::less(Reg a, Reg b) { return index_op(Code::index_lt, a, b, DType::boolean); }

// ---- memory ----

Reg Builder::load(int32_t buffer, Reg at, Access access, Reg where, double otherwise, int64_t ahead, bool aligned) {
  BufferParam& param = kernel_.buffers[static_cast<size_t>(buffer)];
  param.read = true;
  Instr instr{.code = Code::load,
              .type = param.dtype,
              .a = at,
              .b = where,
              .number = otherwise,
              .integer = ahead,
              .buffer = buffer,
              .access = access,
              .aligned = is_aligned(aligned, access)};
  int32_t least = 0;
  for (int32_t i = 0; i <= depth(); ++i) {
    const Block& block = blocks_[static_cast<size_t>(i)];
    if (block.fence || (block.lane && access != Access::uniform)) least = i;
  }
  if (!param.written) return pure(std::move(instr), least);
  instr.dst = fresh(param.dtype, depth(), access != Access::uniform || (where != kNone && lane_varying(where)));
  instr.lane_varying = lane_varying(instr.dst);
  effect(instr);
  return instr.dst;
}

void Builder::store(int32_t buffer, Reg at, Access access, Reg value, bool streaming, Reg where, bool aligned) {
  effect({.code = Code::store,
          .type = kernel_.buffers[static_cast<size_t>(buffer)].dtype,
          .a = at,
          .b = value,
          .c = where,
          .buffer = buffer,
          .access = access,
          .streaming = streaming,
          .aligned = is_aligned(aligned, access)});
}

void Builder::store_bits(int32_t buffer, Reg at, Reg value) {
  effect({.code = Code::store_bits, .type = DType::u8, .a = at, .b = value, .buffer = buffer});
}

Local Builder::local(DType type, int64_t extent, Storage storage) {
  effect({.code = Code::local, .type = type, .integer = extent, .buffer = locals_, .storage = storage});
  return {locals_++, type, storage};
}

Reg Builder::local_load(const Local& local, Reg at, Access access, bool aligned) {
  Instr instr{.code = Code::local_load,
              .type = local.type,
              .a = at,
              .buffer = local.id,
              .access = access,
              .storage = local.storage,
              .aligned = is_aligned(aligned, access)};
  instr.dst = fresh(local.type, depth(), access != Access::uniform);
  instr.lane_varying = access != Access::uniform;
  effect(instr);
  return instr.dst;
}

void Builder::local_store(const Local& local, Reg at, Access access, Reg value, bool aligned) {
  effect({.code = Code::local_store,
          .type = local.type,
          .a = at,
          .b = value,
          .buffer = local.id,
          .access = access,
          .storage = local.storage,
          .aligned = is_aligned(aligned, access)});
}

// ---- control ----

void Builder::bound_loop(Instr loop, const Body& body) {
  open(false, loop.bind == Bind::lane);
  loop.dst = fresh(DType::i64, depth(), loop.bind == Bind::lane);
  loop.lane_varying = info_.back().is_lane = loop.bind == Bind::lane;
  body(loop.dst);
  loop.body = close();
  if (!loop.body.empty()) effect(std::move(loop));
}

void Builder::loop(Reg begin, Reg end, int64_t step, const Body& body, int32_t unroll) {
  if (const std::optional<int64_t> x = literal(begin), y = literal(end); x && y) {
    if (*y <= *x) return;
    if (*y - *x <= step) return body(begin);
  }
  bound_loop({.code = Code::loop, .type = DType::i64, .a = begin, .b = end, .integer = step, .unroll = unroll}, body);
}

void Builder::threads(const Body& body) {
  const Reg begin = index(0);
  bound_loop({.code = Code::loop,
              .type = DType::i64,
              .a = begin,
              .b = index(kernel_.block_threads),
              .integer = 1,
              .bind = Bind::thread},
             body);
}

void Builder::lane_loop(Reg valid, const Body& body) {
  const Reg begin = index(0);
  const int64_t known = valid == kNone ? 0 : literal(valid).value_or(0);
  if (known == lanes_) valid = kNone;
  bound_loop({.code = Code::loop,
              .type = DType::i64,
              .a = begin,
              .b = index(lanes_),
              .integer = 1,
              .bind = Bind::lane,
              .valid = valid,
              .part = known > 0 && known < lanes_},
             body);
}

void Builder::branch(Reg condition, const std::function<void()>& body) {
  open(true, false);
  body();
  Instr instr{.code = Code::branch, .a = condition};
  instr.body = close();
  if (!instr.body.empty()) effect(std::move(instr));
}

void Builder::last_block(int32_t counter, Reg at, Reg blocks, const std::function<void()>& body) {
  open(true, false);
  body();
  Instr instr{.code = Code::last_block, .a = at, .b = blocks, .buffer = counter};
  instr.body = close();
  effect(std::move(instr));
}

void Builder::barrier() { effect({.code = Code::barrier}); }

// ---- placement ----

int32_t Builder::operand_depth(const Instr& instr) const {
  int32_t deepest = 0;
  for (Reg reg : {instr.a, instr.b, instr.c})
    if (reg != kNone) deepest = std::max(deepest, info_[static_cast<size_t>(reg)].depth);
  return deepest;
}

Reg Builder::fresh(DType type, int32_t depth, bool lane_varying) {
  info_.push_back({.type = type,
                   .depth = depth,
                   .lane_varying = lane_varying,
                   .block = blocks_[static_cast<size_t>(depth)].number});
  return static_cast<Reg>(info_.size()) - 1;
}

Reg Builder::pure(Instr instr, int32_t least_depth) {
  ensure(!blocks_.empty(), "an instruction outside a phase");
  const int32_t at = std::max(operand_depth(instr), least_depth);
  ensure(at <= depth(), "an operand of a closed block");
  bool varies = instr.code == Code::load && instr.access != Access::uniform;
  for (Reg reg : {instr.a, instr.b, instr.c}) varies |= reg != kNone && lane_varying(reg);
  Block& block = blocks_[static_cast<size_t>(at)];
  const auto [found, is_new] = block.known.try_emplace(Key{instr}, kNone);
  if (!is_new) return found->second;
  instr.lane_varying = varies;
  instr.dst = found->second = fresh(instr.type, at, varies);
  RegInfo& set = info_.back();
  set.code = instr.code, set.op = instr.op, set.a = instr.a, set.b = instr.b, set.c = instr.c;
  set.number = instr.number, set.integer = instr.integer;
  block.instrs.push_back(std::move(instr));
  return block.instrs.back().dst;
}

void Builder::effect(Instr instr) {
  ensure(!blocks_.empty(), "an instruction outside a phase");
  blocks_.back().instrs.push_back(std::move(instr));
}

void Builder::open(bool fence, bool lane) {
  blocks_.emplace_back();
  blocks_.back().number = opened_++;
  blocks_.back().fence = fence;
  blocks_.back().lane = lane;
}

std::vector<Instr> Builder::close() {
  std::vector<Instr> body = std::move(blocks_.back().instrs);
  blocks_.pop_back();
  return body;
}

}  // namespace kb::ir
