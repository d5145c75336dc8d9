#include "compiler/lower/expression.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/kernel/math.h"
#include "compiler/lower/emit.h"
#include "compiler/views.h"
#include "graph/formula.h"
#include "graph/index_range.h"
#include "graph/interpreter.h"

namespace kb {

using ir::Reg;

void Expression::store(const std::vector<std::pair<Value, Indices>>& values) {
  std::vector<Reg> results;
  for (const auto& [v, at] : values) {
    const Node& node = cx_.graph.node(v);
    results.push_back(value(node.op == Op::pack_bits ? node.inputs[0] : v, at));
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const auto& [v, at] = values[i];
    const Index position = math_.flatten(at, domain_of(cx_.graph, v));
    if (cx_.graph.node(v).op == Op::pack_bits)
      cx_.store_bit(cx_.output_buffer(v), position, results[i]);
    else
      cx_.store_output(v, position, results[i]);
  }
}

void Expression::store(const std::vector<Value>& values, const Indices& at) {
  std::vector<std::pair<Value, Indices>> placed;
  for (const Value v : values) placed.emplace_back(v, at);
  store(placed);
}

Reg Expression::value_at(Value v, const Index& position) {
  return value(v, math_.unflatten(position, cx_.graph.type(v).shape));
}

Reg Expression::value(Value v, const Indices& at) {
  const auto key = std::make_tuple(v, at, guard_);
  if (const auto found = known_.find(key); found != known_.end() && b_.alive(found->second)) return found->second;
  const Reg result = evaluate(v, at);
  known_[key] = result;
  return result;
}

// Returns a reduction's result that is asked for at an index written differently from the one it was computed at; kNone
// if there is none. `fuse` lets a group read its own results only at their own place, so the result that is alive is
// the one that is meant.
Reg Expression::own_result(Value v) const {
  if (info(cx_.graph.node(v).op).cls != OpClass::reduction) return ir::kNone;
  Reg found = ir::kNone;
  for (const auto& [key, reg] : known_) {
    if (std::get<0>(key) != v || !b_.alive(reg)) continue;
    if (found != ir::kNone && found != reg) return ir::kNone;
    found = reg;
  }
  return found;
}

Reg Expression::evaluate(Value v, const Indices& at) {
  if (const int32_t buffer = cx_.input_buffer(v); buffer >= 0)
    return cx_.load(buffer, math_.flatten(at, cx_.graph.type(v).shape), guard_);
  if (v == Value{cx_.group.product, 0}) return product(v, at);
  const Node& node = cx_.graph.node(v);
  switch (node.op) {
    case Op::constant:
      return constant(node, at);
    case Op::iota:
      return number(at[0], node.type().dtype);
    case Op::extent:
      return extent(node);
    case Op::random_bits:
      return random_bits(node, at);
    case Op::pad:
      return pad(node, at);
    case Op::concat:
      return concat(node, at);
    case Op::gather:
      return gather(node, at);
    case Op::crop:
      return crop(node, at);
    case Op::unpack_bits:
      return unpack_bits(node, at);
    case Op::max_pool:
    case Op::max_pool_grad:
    case Op::take_at_index:
    case Op::sum_pool:
    case Op::sum_pool_grad:
      return window(v, at);
    case Op::broadcast:
    case Op::reshape:
    case Op::transpose:
    case Op::slice:
      return value(node.inputs[0], moved(node, at));
    case Op::stop_gradient:
    case Op::worker_sum:
      return value(node.inputs[0], at);
    default:
      break;
  }
  if (const Reg own = own_result(v); own != ir::kNone) return own;
  if (!is_pointwise(node.op))
    throw InternalError("lower: a group reads the result of " + std::string(name(node.op)) +
                        ", which is neither materialised nor computed in it at this index");
  return pointwise(node, at);
}

// Returns an element of the group's product; where only positions are noted, the position at which memory would have
// it.
Reg Expression::product(Value v, const Indices& at) {
  if (cx_.product) return cx_.product(at);
  ensure(cx_.notes != nullptr, "lower: a product in a launch that does not compute it");
  cx_.note(math_.flatten(at, cx_.graph.type(v).shape), false);
  return emit_number(b_, cx_.graph.type(v).dtype, 0);
}

Reg Expression::pointwise(const Node& node, const Indices& at) {
  Reg args[3] = {ir::kNone, ir::kNone, ir::kNone};
  for (size_t i = 0; i < node.inputs.size(); ++i) args[i] = value(node.inputs[i], at);
  return emit_pointwise(b_, node.op, node.type().dtype, args[0], args[1], args[2]);
}

// ---- movement ----

Indices Expression::moved(const Node& node, const Indices& at) {
  const Dims& from = cx_.graph.type(node.inputs[0]).shape;
  Indices result(from.size());
  switch (node.op) {
    case Op::broadcast: {
      const Ints& axes = node.attrs.ints("axes");
      for (size_t i = 0; i < axes.size(); ++i)
        result[i] = from[i] == 1 ? IndexMath::literal(0) : at[static_cast<size_t>(axes[i])];
      return result;
    }
    case Op::reshape:
      return math_.unflatten(math_.flatten(at, node.type().shape), from);
    case Op::transpose: {
      const Ints& perm = node.attrs.ints("perm");
      for (size_t i = 0; i < perm.size(); ++i) result[static_cast<size_t>(perm[i])] = at[i];
      return result;
    }
    default:
      break;
  }
  const Ints &begin = node.attrs.ints("begin"), &step = node.attrs.ints("step");
  for (size_t i = 0; i < from.size(); ++i) result[i] = math_.shift(math_.scale(at[i], step[i]), begin[i]);
  return result;
}

// Returns a boolean of bits in memory, or of those that the group packs.
Reg Expression::unpack_bits(const Node& node, const Indices& at) {
  const Value packed = node.inputs[0];
  if (const int32_t buffer = cx_.input_buffer(packed); buffer >= 0)
    return cx_.load_bit(buffer, math_.flatten(at, node.type().shape), guard_);
  const Node& pack = cx_.graph.node(packed);
  ensure(pack.op == Op::pack_bits, "lower: bits that are neither in memory nor packed here");
  return value(pack.inputs[0], at);
}

// Returns `v` at `at` where `condition` is true (kNone: everywhere), else `otherwise`.
Reg Expression::guarded(Reg condition, Value v, const Indices& at, Reg otherwise) {
  if (condition == ir::kNone) return value(v, at);
  const std::optional<double> number = b_.number(otherwise);
  if (const int32_t buffer = cx_.input_buffer(v); buffer >= 0 && number)
    return cx_.load(buffer, math_.flatten(at, cx_.graph.type(v).shape), both(guard_, condition), *number);
  const Reg outer = guard_;
  guard_ = outer == ir::kNone ? condition : b_.compute(Op::bit_and, outer, condition);
  const Reg inner = value(v, at);
  guard_ = outer;
  return b_.compute(Op::select, condition, inner, otherwise);
}

Reg Expression::both(Reg a, Reg b) {
  if (a == ir::kNone) return b;
  return b == ir::kNone ? a : b_.compute(Op::bit_and, a, b);
}

Reg Expression::inside(const Index& index, int64_t low, int64_t high) {
  const Reg holds = math_.inside(index, low, high);
  if (holds != ir::kNone) cx_.note(index, true);
  return holds;
}

Reg Expression::pad(const Node& node, const Indices& at) {
  const Dims& from = cx_.graph.type(node.inputs[0]).shape;
  const Ints &low = node.attrs.ints("low"), &interior = node.attrs.ints("interior");
  Reg holds = ir::kNone;
  Indices inner(at.size());
  for (size_t i = 0; i < at.size(); ++i) {
    inner[i] = at[i];
    if (node.type().shape[i] == from[i]) continue;
    const int64_t step = interior[i] + 1;
    const Index raw = math_.shift(at[i], -low[i]);
    holds = both(holds, inside(raw, 0, from[i] * step));
    inner[i] = math_.div(raw, step);
    if (step == 1) continue;
    const Index rest = math_.mod(raw, step);
    cx_.note(rest, true);
    holds = both(holds, b_.less(math_.emit(rest), b_.index(1)));
  }
  const DType dtype = node.type().dtype;
  return guarded(holds, node.inputs[0], inner, emit_number(b_, dtype, node.attrs.real("value")));
}

Reg Expression::concat(const Node& node, const Indices& at) {
  const auto axis = static_cast<size_t>(node.attrs.integer("axis"));
  Reg result = emit_number(b_, node.type().dtype, 0);
  int64_t begin = 0;
  for (const Value part : node.inputs) {
    const int64_t extent = cx_.graph.type(part).shape[axis];
    Indices inner = at;
    inner[axis] = math_.shift(at[axis], -begin);
    if (extent > 0) result = guarded(inside(inner[axis], 0, extent), part, inner, result);
    begin += extent;
  }
  return result;
}

// ---- leaves ----

// Writes a table of several numbers as a chain of selects; the pass `tables` leaves only constants of one number.
Reg Expression::constant(const Node& node, const Indices& at) {
  const auto& values = node.attrs.reals("values");
  const DType dtype = node.type().dtype;
  if (dtype == DType::boolean) {
    ensure(values.size() == 1, "a boolean table is not materialised");
    return b_.constant(dtype, values[0] != 0);
  }
  Reg result = emit_number(b_, dtype, values[0]);
  if (values.size() == 1) return result;
  const Index position = math_.flatten(at, node.type().shape);
  cx_.note(position, true);
  for (size_t i = 1; i < values.size(); ++i) {
    if (values[i] == values[i - 1]) continue;
    const Reg before = b_.less(math_.emit(position), b_.index(static_cast<int64_t>(i)));
    result = b_.compute(Op::select, before, result, emit_number(b_, dtype, values[i]));
  }
  return result;
}

Reg Expression::number(const Index& index, DType dtype) {
  cx_.note(index, true);
  return b_.convert(dtype, math_.emit(index));
}

// Returns a name for the node within the group, which is equal in all groups of equal ops.
std::string Expression::place(const Node& node) const {
  const auto& nodes = cx_.group.nodes;
  const auto at = std::find_if(nodes.begin(), nodes.end(), [&](int32_t n) { return &cx_.graph.node(n) == &node; });
  return std::to_string(at - nodes.begin());
}

Reg Expression::extent(const Node& node) {
  const int64_t product = element_count(node.attrs.ints("extents"));
  return emit_cast(b_, node.type().dtype, cx_.argument("extent " + place(node), product));
}

// Returns word 0 of Philox4x32-10 (Salmon et al. 2011), with counter and key as graph/infer.h defines them.
Reg Expression::random_bits(const Node& node, const Indices& at) {
  const auto u32 = [&](double value) { return b_.constant(DType::u32, value); };
  const auto op = [&](Op which, Reg x, Reg y) { return b_.compute(which, x, y); };
  const Ints& strides = node.attrs.ints("strides");
  Index element;
  for (size_t a = 1; a < at.size(); ++a) element = math_.add(element, math_.scale(at[a], strides[a]));
  const std::string tag = " " + place(node);
  const Reg samples = b_.convert(DType::u32, cx_.argument("samples" + tag, node.type().shape[0]));
  const Reg stream = b_.convert(DType::u32, cx_.argument("stream" + tag, fnv1a32(node.attrs.text("stream"))));
  const Reg step = value(node.inputs[0], {}), worker = value(node.inputs[1], {}), seed = value(node.inputs[2], {});
  const Reg sample = op(Op::add, op(Op::mul, worker, samples), number(at[0], DType::u32));
  Reg counter[4] = {number(element, DType::u32), sample, step, u32(0)}, key[2] = {seed, stream};
  for (int round = 0; round < 10; ++round) {
    const Reg m0 = u32(0xD2511F53), m1 = u32(0xCD9E8D57);
    const Reg high0 = op(Op::mul_high, m0, counter[0]), low0 = op(Op::mul, m0, counter[0]);
    const Reg high1 = op(Op::mul_high, m1, counter[2]), low1 = op(Op::mul, m1, counter[2]);
    counter[0] = op(Op::bit_xor, op(Op::bit_xor, high1, counter[1]), key[0]);
    counter[1] = low1;
    counter[2] = op(Op::bit_xor, op(Op::bit_xor, high0, counter[3]), key[1]);
    counter[3] = low0;
    key[0] = op(Op::add, key[0], u32(0x9E3779B9));
    key[1] = op(Op::add, key[1], u32(0xBB67AE85));
  }
  return counter[0];
}

// ---- indexed ----

// Returns the index that the node's integer input holds, and whether it lies in [0, extent) (kNone: it always does). An
// index outside becomes 0, so that a read whose result is dropped stays inside the memory.
Expression::Checked Expression::checked(const Node& node, size_t input, const Indices& at, int64_t extent) {
  Reg raw = value(node.inputs[input], at), holds = ir::kNone;
  if (!indexes_within(cx_.graph, node.inputs[input], extent)) {
    // An unsigned comparison finds negative indices too.
    const Reg end = b_.convert(DType::u32, cx_.argument("rows " + place(node), extent));
    holds = b_.compute(Op::lt, b_.convert(DType::u32, raw), end);
    raw = b_.compute(Op::select, holds, raw, b_.constant(b_.type(raw), 0));
  }
  return {math_.of(b_.convert(DType::i64, raw), extent - 1), holds};
}

// Returns what stands for an element whose index is out of range: NaN (integers and booleans: 0).
Reg Expression::missing(DType dtype) {
  return emit_number(b_, dtype, is_float(dtype) ? std::numeric_limits<double>::quiet_NaN() : 0);
}

Reg Expression::gather(const Node& node, const Indices& at) {
  const int64_t rank = cx_.graph.type(node.inputs[1]).rank();
  const Checked row = checked(node, 1, {at.begin(), at.begin() + rank}, cx_.graph.type(node.inputs[0]).shape[0]);
  Indices from{row.index};
  from.insert(from.end(), at.begin() + rank, at.end());
  const Reg taken = value(node.inputs[0], from);
  if (row.holds == ir::kNone) return taken;
  return b_.compute(Op::select, row.holds, taken, missing(node.type().dtype));
}

// Returns an element of a crop. The window's numbers are the same for a whole sample, so one comparison checks a row,
// whose elements lie at a stride of 1 or -1.
Reg Expression::crop(const Node& node, const Indices& at) {
  const Dims &from = cx_.graph.type(node.inputs[0]).shape, &to = node.type().shape;
  const size_t h = at.size() - 2, w = at.size() - 1;
  const auto window = [&](int64_t which) { return value(node.inputs[1], {at[0], IndexMath::literal(which)}); };
  cx_.note(at[h], true);
  cx_.note(at[w], true);
  const Reg one = b_.constant(DType::i32, 1), zero = b_.constant(DType::i32, 0);
  const Reg mirrored = b_.convert(DType::i64, b_.compute(Op::select, b_.compute(Op::ne, window(2), zero), one, zero));
  const Reg row = b_.add(b_.convert(DType::i64, window(0)), math_.emit(at[h]));
  // The column is left + j, or left + last - j if mirrored: left + last mirrored + j (1 - 2 mirrored).
  const Reg first = b_.mul_add(mirrored, b_.index(to[w] - 1), b_.convert(DType::i64, window(1)));
  const Reg column = b_.mul_add(math_.emit(at[w]), b_.sub(b_.index(1), b_.mul(mirrored, b_.index(2))), first);
  // An unsigned comparison finds negative indices too.
  const auto within = [&](Reg index, int64_t extent) {
    return b_.compute(Op::lt, b_.convert(DType::u32, index), b_.constant(DType::u32, static_cast<double>(extent)));
  };
  Indices read = at;
  read[h] = math_.of(row, from[h] - 1);
  read[w] = math_.of(column, from[w] - 1);
  return guarded(both(within(row, from[h]), within(column, from[w])), node.inputs[0], read,
                 emit_number(b_, node.type().dtype, 0));
}

}  // namespace kb
