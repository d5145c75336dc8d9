#include "compiler/lower/context.h"

#include <algorithm>

#include "compiler/views.h"
#include "graph/error.h"
#include "graph/rounding.h"

namespace kb {

using ir::Reg;

Context::Context(const Graph& graph, const Group& group, const Target& target, const std::string& kind)
    : graph(graph),
      group(group),
      target(target),
      b(kind, target.lanes, target.processor == Processor::gpu ? target.block_threads : 0),
      math(b) {
  for (Value v : group.inputs) inputs_[v] = add_buffer({.dtype = graph.type(v).dtype}, v, 0);
  for (Value v : group.outputs) {
    outputs_[v] = add_buffer({.dtype = graph.type(v).dtype, .written = true, .read = false}, v, 0);
    output_bytes_ += graph.type(v).bytes();
  }
  for (const StateWrite& write : graph.writes) {
    const Value value = resolve_alias(graph, write.value).owner;
    if (outputs_.contains(value) && reads_variable(write.variable)) in_place_.insert(value);
  }
}

bool Context::reads_variable(const std::string& name) const {
  return std::any_of(group.inputs.begin(), group.inputs.end(), [&](Value v) {
    const Node& owner = graph.node(resolve_alias(graph, v).owner);
    return owner.op == Op::variable && owner.attrs.text("name") == name;
  });
}

int32_t Context::add_buffer(const ir::BufferParam& param, Value value, int64_t scratch_bytes) {
  result_.operands.push_back(value);
  result_.scratch_bytes.push_back(scratch_bytes);
  return b.add_buffer(param);
}

int32_t Context::add_scratch(DType dtype, int64_t elements) {
  return add_buffer({.dtype = dtype, .written = true, .scratch = true}, {}, elements * size_of(dtype));
}

Reg Context::argument(const std::string& name, int64_t value) {
  const auto [found, is_new] = arguments_.try_emplace(name, 0);
  if (is_new) {
    found->second = b.add_argument();
    result_.arguments.push_back(value);
  }
  ensure(result_.arguments[static_cast<size_t>(found->second)] == value, "one argument of a kernel with two values");
  return b.argument(found->second);
}

int32_t Context::input_buffer(Value value) const {
  const auto found = inputs_.find(value);
  return found == inputs_.end() ? -1 : found->second;
}

int32_t Context::output_buffer(Value value) const {
  const auto found = outputs_.find(value);
  return found == outputs_.end() ? -1 : found->second;
}

// Returns whether a buffer has at least half as many elements as the domain: memory that a kernel walks through once.
bool Context::is_large(int32_t buffer) const {
  const Value v = result_.operands[static_cast<size_t>(buffer)];
  return v.valid() && 2 * graph.type(v).elements() >= element_count(group.domain);
}

Reg Context::load(int32_t buffer, const Index& position, Reg where, double otherwise) {
  note(position, false);
  const Place place = math.place(position);
  if (place.crosses != ir::kNone && masks_loads(buffer)) {
    const Reg value = load_in_two(buffer, place, where);
    return otherwise == 0 ? value : b.compute(Op::select, where, value, b.constant(b.type(value), otherwise));
  }
  // One element that only some lanes may touch is reached lane by lane.
  const bool by_lane = place.access == ir::Access::uniform && where != ir::kNone && b.lane_varying(where);
  const bool walks =
      prefetches && where == ir::kNone && place.access == ir::Access::contiguous && whole_vectors_ && is_large(buffer);
  const Reg value = b.load(buffer, place.at, by_lane ? ir::Access::gather : place.access, where, otherwise,
                           walks ? target.prefetch_bytes / size_of(b.buffer_type(buffer)) : 0, place.aligned);
  return b.convert(arithmetic_dtype(b.type(value)), value);
}

// Returns whether a load of some lanes is one instruction.
bool Context::masks_loads(int32_t buffer) const {
  return target.processor == Processor::cpu && whole_vectors_ && b.buffer_type(buffer) == DType::f32;
}

// Loads a gather that is two contiguous accesses (see Place::crosses), each with its own lanes.
Reg Context::load_in_two(int32_t buffer, const Place& place, Reg where) {
  const auto part = [&](Reg at, Reg lanes) {
    const Reg both = where == ir::kNone ? lanes : b.compute(Op::bit_and, where, lanes);
    return b.load(buffer, at, ir::Access::contiguous, both);
  };
  const Reg near = part(place.near, b.compute(Op::logical_not, place.crosses));
  return b.compute(Op::select, place.crosses, part(place.beyond, place.crosses), near);
}

void Context::store(int32_t buffer, const Index& position, Reg value, bool streams) {
  note(position, false);
  const Place place = math.place(position);
  streams = streams && place.aligned && whole_vectors_ && target.streaming_bytes > 0;
  if (streams) b.set_streaming_argument(streaming_argument());
  b.store(buffer, place.at, place.access, value, streams, ir::kNone, place.aligned);
}

// Returns the number of the argument `streaming`, which is 1 if the outputs are too large to stay in the cache.
int64_t Context::streaming_argument() {
  argument("streaming", output_bytes_ > target.streaming_bytes ? 1 : 0);
  return arguments_.at("streaming");
}

void Context::store_output(Value value, const Index& position, Reg reg) {
  // An element that is overwritten in place has just come into the cache, so its store does not bypass the cache.
  store(output_buffer(value), position, b.convert(graph.type(value).dtype, reg), !in_place_.contains(value));
}

Reg Context::load_bit(int32_t buffer, const Index& position, Reg where) {
  note(position, false);
  const Place place = math.place(position);
  const bool one_byte = place.aligned && b.lanes() == kPackedBits;  // holds what all lanes read
  const Reg at = one_byte ? place.at : math.emit(position), bits = b.index(kPackedBits);
  const bool varies = b.lane_varying(at) || (where != ir::kNone && b.lane_varying(where));
  const Reg byte = b.load(buffer, b.div(at, bits), varies ? ir::Access::gather : ir::Access::uniform, where);
  const Reg shift = b.convert(DType::u32, one_byte ? place.lane : b.mod(at, bits));
  const Reg shifted = b.compute(Op::shift_right, b.convert(DType::u32, byte), shift);
  return b.compute(Op::ne, b.compute(Op::bit_and, shifted, b.constant(DType::u32, 1)), b.constant(DType::u32, 0));
}

void Context::store_bit(int32_t buffer, const Index& position, Reg value) {
  note(position, false);
  if (notes) return;  // a single point is lowered for its positions alone
  const Place place = math.place(position);
  ensure(whole_vectors_ && b.lanes() == kPackedBits && place.aligned, "lower: packed bits in no whole vector of eight");
  b.store_bits(buffer, b.div(place.at, b.index(kPackedBits)), value);
}

Extent Context::least(int64_t most, const Extent& whole, const Index& begin) {
  if (!whole.dynamic() && begin.is_literal()) return literal(std::min(most, whole.literal - begin.offset));
  if (!whole.dynamic() && whole.literal % most == 0) return literal(most);
  // A vector that begins at a multiple of the lanes is whole if the extent is a multiple of them.
  if (target.processor == Processor::gpu && most == b.lanes() && whole.multiple % most == 0) return literal(most);
  const Reg left = b.sub(reg(whole), math.emit(begin));
  const int64_t multiple = whole.multiple % b.lanes() == 0 && most % b.lanes() == 0 ? b.lanes() : 1;
  return {most, b.min(b.index(most), left), multiple};
}

Index Context::first_of_tile(const Index& tile, int64_t size) {
  if (target.processor == Processor::gpu || tile.is_literal()) return math.scale(tile, size);
  return math.of(b.mul(math.emit(tile), b.index(size)));
}

Reg Context::reg(const Extent& extent) { return extent.dynamic() ? extent.reg : b.index(extent.literal); }

void Context::serial(const Extent& extent, const Body& body) {
  const int64_t most = extent.dynamic() ? IndexMath::kUnbounded : extent.literal - 1;
  b.loop(b.index(0), reg(extent), 1, [&](Reg var) { body(math.of(var, most)); });
}

void Context::shared(const Extent& extent, int64_t most, const Body& body) {
  if (target.processor == Processor::cpu) return serial(extent, body);
  const int64_t threads = target.block_threads;
  b.threads([&](Reg thread) { rounds_of_thread(extent, most, math.of(thread, threads - 1), threads, body); });
}

void Context::rounds_of_thread(const Extent& extent, int64_t most, const Index& thread, int64_t threads,
                               const Body& body, int32_t unroll) {
  const bool known = !extent.dynamic();
  const auto own = [&](const Index& round) {
    const Index number = math.add(math.scale(round, threads), thread);
    if (known) math.promise(number, extent.literal - 1);
    body(known && extent.literal == 1 ? Index{} : number);
  };
  const auto rounds = [&](Reg count) {
    const int64_t last = most >= IndexMath::kUnbounded ? most : (most - 1) / threads;
    b.loop(
        b.index(0), count, 1, [&](Reg round) { own(math.of(round, last)); }, unroll);
  };
  if (known && extent.literal % threads == 0) return rounds(b.index(extent.literal / threads));
  if (most <= threads) return b.branch(b.less(math.emit(thread), reg(extent)), [&] { own(Index{}); });
  rounds(b.div(b.sub(b.add(reg(extent), b.index(threads - 1)), math.emit(thread)), b.index(threads)));
}

void Context::one_vector(const Extent& valid, const Index& begin, const Body& body) {
  if (!valid.dynamic() && valid.literal == 1) return body(begin);
  const bool whole = !valid.dynamic() && valid.literal == b.lanes();
  const int64_t most = valid.dynamic() ? b.lanes() - 1 : valid.literal - 1;
  whole_vectors_ = whole;
  b.lane_loop(whole ? ir::kNone : reg(valid), [&](Reg lane) { body(math.add(begin, math.of(lane, most))); });
  whole_vectors_ = false;
}

// Returns the number of whole vectors of a row that has a tail. On a CPU it is an argument, also if it is 1, so that
// rows of all lengths share one text.
Reg Context::number_of_vectors(int64_t count) {
  if (target.processor == Processor::gpu) return b.index(count);
  return argument("vectors " + std::to_string(count), count);
}

void Context::vectors(const Extent& extent, const Body& body) {
  const int64_t lanes = b.lanes();
  const auto full = [&](Reg count, int64_t most) {
    b.loop(b.index(0), count, 1, [&](Reg vector) {
      one_vector(literal(lanes), math.scale(math.of(vector, most), lanes), [&](const Index& at) {
        if (!extent.dynamic()) math.promise(at, extent.literal - 1);
        body(at);
      });
    });
  };
  if (!extent.dynamic()) {
    const int64_t count = extent.literal / lanes, tail = extent.literal % lanes;
    if (count == 0 || tail == 0) full(b.index(count), count - 1);
    if (tail == 0) return;
    if (count == 0) return one_vector(literal(tail), Index{}, body);
    const Reg number = number_of_vectors(count);
    full(number, std::max<int64_t>(count - 1, 1));  // most 0 would show that there is one
    return one_vector(literal(tail), math.scale(math.of(number, count), lanes), body);
  }
  const Reg width = b.index(lanes), count = b.div(extent.reg, width);
  full(count, IndexMath::kUnbounded);
  if (extent.multiple % lanes == 0) return;
  const Reg tail = b.mod(extent.reg, width);
  b.branch(b.less(b.index(0), tail), [&] { one_vector({0, tail, 1}, math.scale(math.of(count), lanes), body); });
}

void Context::blocks(const Extent& extent, int64_t size, const std::function<void(const Index&, const Extent&)>& body) {
  if (size == 1) return serial(extent, [&](const Index& at) { body(at, literal(1)); });
  if (!extent.dynamic() && extent.literal <= size) return body(Index{}, extent);
  const auto rounded_up = [&] {
    const Reg whole = argument("block", size);
    return Extent{0, b.div(b.add(extent.reg, b.sub(whole, b.index(1))), whole), 1};
  };
  serial(extent.dynamic() ? rounded_up() : literal(ceil_div(extent.literal, size)), [&](const Index& block) {
    const Index begin = math.scale(block, size);
    body(begin, least(size, extent, begin));
  });
}

void Context::add_phase(int64_t tiles, bool dynamic, const Body& body) {
  result_.tiles.push_back(tiles);
  b.phase([&] {
    body(!dynamic && tiles == 1 ? IndexMath::literal(0)
                                : math.of(b.tile(), dynamic ? IndexMath::kUnbounded : tiles - 1));
  });
}

int64_t Context::chunk_of(int64_t extent, int64_t most, int64_t unit) {
  most = std::max(most / unit * unit, unit);
  if (extent <= most) return extent;
  for (int64_t chunk = most; chunk >= (most + 1) / 2; chunk -= unit)
    if (extent % chunk == 0) return chunk;
  const int64_t pieces = ceil_div(extent, most), even = ceil_div(extent, pieces);
  return round_up(even, unit);
}

// Returns whether positions in the domain and in all buffers fit 32 bits, with room for those a little past an end,
// which are computed before a branch leaves them out.
bool Context::fits_narrow_index() const {
  constexpr int64_t kMost = (int64_t{1} << 31) - (int64_t{1} << 27);
  if (element_count(group.domain) > kMost) return false;
  for (size_t i = 0; i < result_.operands.size(); ++i) {
    const Value v = result_.operands[i];
    if ((v.valid() ? graph.type(v).elements() : result_.scratch_bytes[i]) > kMost) return false;
  }
  return true;
}

Lowered Context::finish() {
  result_.kernel = b.finish();
  result_.kernel.narrow_index = target.processor == Processor::gpu && fits_narrow_index();
  return std::move(result_);
}

}  // namespace kb
