#include "tests/interpreters/kernel_interpreter.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "graph/error.h"
#include "tests/interpreters/kernel_interpreter_tiles.h"

namespace kb::ir {
namespace {

constexpr int64_t kMaxLanes = 16;

class Machine : private TileHost {
 public:
  Machine(const Kernel& kernel, std::span<const int64_t> arguments, std::span<const Memory> buffers)
      : kernel_(kernel),
        arguments_(arguments),
        buffers_(buffers),
        values_(static_cast<size_t>(kernel.registers * kMaxLanes)),
        types_(static_cast<size_t>(kernel.registers), DType::f32),
        varying_(static_cast<size_t>(kernel.registers), false),
        tiles_(kernel, *this) {
    for (const Phase& phase : kernel.phases) describe(phase.body);
    for (size_t i = 0; i < buffers.size(); ++i) {
      size_t owner = 0;
      while (buffers[owner].data != buffers[i].data) ++owner;
      owner_.push_back(owner);
      cells_.emplace_back(owner == i ? static_cast<size_t>(buffers[i].elements) : 0);
      for (Cell& cell : cells_.back()) cell.defined = buffers[i].defined;
    }
  }

  void phase(const Phase& phase, int64_t tiles) {
    for (int64_t tile = 0; tile < tiles; ++tile) {
      now_.tile = static_cast<int32_t>(tile);
      tile_ = tile;
      locals_.clear();
      body(phase.body);
      tiles_.end();
    }
    now_.period = ++last_period_;
  }

 private:
  void describe(const std::vector<Instr>& instrs) {
    for (const Instr& instr : instrs) {
      if (instr.dst != kNone) {
        types_[static_cast<size_t>(instr.dst)] = instr.type;
        varying_[static_cast<size_t>(instr.dst)] = instr.lane_varying;
      }
      describe(instr.body);
    }
  }

  Scalar& at(Reg reg, int64_t lane) {
    const size_t r = static_cast<size_t>(reg);
    return values_[r * kMaxLanes + static_cast<size_t>(varying_[r] ? lane : 0)];
  }
  Scalar get(Reg reg, int64_t lane) { return reg == kNone ? Scalar{} : at(reg, lane); }
  int64_t integer(Reg reg, int64_t lane) { return at(reg, lane).integer; }
  int64_t integer(Reg reg) override { return integer(reg, 0); }

  void body(const std::vector<Instr>& instrs) {
    for (const Instr& instr : instrs) execute(instr);
  }

  void execute(const Instr& instr) {
    switch (instr.code) {
      case Code::loop:
        return loop(instr);
      case Code::branch:
        if (integer(instr.a) != 0) body(instr.body);
        return;
      case Code::barrier:
        now_.epoch++;
        return;
      case Code::last_block:
        return last_block(instr);
      case Code::local:
        return declare(instr);
      case Code::store_bits:
        return store_bits(instr);
      case Code::tile_copy:
      case Code::tile_group:
      case Code::tile_wait:
      case Code::tile_mma:
      case Code::tile_store:
        return tiles_.execute(instr);
      default:
        break;
    }
    // An instruction whose result is the same for all lanes is executed once.
    const bool by_lane = now_.lane_loop >= 0 && (instr.lane_varying || instr.access != Access::uniform);
    const int64_t count = by_lane ? valid_ : 1;
    for (int64_t lane = 0; lane < count; ++lane) {
      now_.lane = by_lane ? static_cast<int32_t>(lane) : -1;
      single(instr, lane);
    }
    now_.lane = -1;
  }

  void single(const Instr& instr, int64_t lane) {
    switch (instr.code) {
      case Code::constant:
        at(instr.dst, lane) = is_float(instr.type) ? convert_scalar(instr.type, DType::f64, {instr.number, 0})
                              : instr.type == DType::i64
                                  ? Scalar{0, instr.integer}
                                  : convert_scalar(instr.type, DType::i64, {0, static_cast<int64_t>(instr.number)});
        return;
      case Code::argument:
        at(instr.dst, lane).integer = arguments_[static_cast<size_t>(instr.integer)];
        return;
      case Code::tile:
        at(instr.dst, lane).integer = tile_;
        return;
      case Code::compute:
        at(instr.dst, lane) =
            evaluate_primitive(instr.op, types_[static_cast<size_t>(instr.op == Op::select ? instr.b : instr.a)],
                               get(instr.a, lane), get(instr.b, lane), get(instr.c, lane));
        return;
      case Code::fma:
        at(instr.dst, lane).number =
            evaluate_fma(instr.type, get(instr.a, lane).number, get(instr.b, lane).number, get(instr.c, lane).number);
        return;
      case Code::bitcast:
        at(instr.dst, lane) = bitcast(instr.type, types_[static_cast<size_t>(instr.a)], get(instr.a, lane));
        return;
      case Code::convert:
        at(instr.dst, lane) = convert_scalar(instr.type, types_[static_cast<size_t>(instr.a)], get(instr.a, lane));
        return;
      case Code::load:
      case Code::store:
        return global(instr, lane);
      case Code::local_load:
      case Code::local_store:
        return local(instr, lane);
      default:
        at(instr.dst, lane).integer = index(instr, lane);
        ensure(!kernel_.narrow_index || std::abs(at(instr.dst, lane).integer) <= INT32_MAX,
               "an index past the 32 bits that the kernel states");
    }
  }

  int64_t index(const Instr& instr, int64_t lane) {
    const int64_t a = integer(instr.a, lane), b = integer(instr.b, lane);
    switch (instr.code) {
      case Code::index_add:
        return a + b;
      case Code::index_sub:
        return a - b;
      case Code::index_mul:
        return a * b;
      case Code::index_div:
        ensure(b != 0, "index division by zero");
        return a / b;
      case Code::index_mod:
        ensure(b != 0, "index division by zero");
        return a % b;
      case Code::index_min:
        return std::min(a, b);
      case Code::index_max:
        return std::max(a, b);
      case Code::index_lt:
        return a < b;
      case Code::index_mul_add:
        return a * b + integer(instr.c, lane);
      default:
        throw InternalError("an instruction the interpreter does not know");
    }
  }

  static Scalar bitcast(DType to, DType from, const Scalar& x) {
    const uint32_t bits =
        from == DType::f32 ? std::bit_cast<uint32_t>(static_cast<float>(x.number)) : static_cast<uint32_t>(x.integer);
    if (to == DType::f32) return {std::bit_cast<float>(bits), 0};
    return {0, to == DType::i32 ? static_cast<int64_t>(static_cast<int32_t>(bits)) : static_cast<int64_t>(bits)};
  }

  int64_t place(const Instr& instr, int64_t lane) {
    return integer(instr.a, lane) + (instr.access == Access::contiguous ? lane : 0);
  }

  [[noreturn]] void fault(char space, const Instr& instr, int64_t element, const char* what) const {
    Machine::fault(space, instr.buffer, element, what);
  }
  [[noreturn]] void fault(char space, int32_t array, int64_t element, const char* what) const final {
    throw InternalError(fmt::format("kernel IR: {}{}[{}] {} (tile {}, thread {}, lane {})\n{}", space, array, element,
                                    what, now_.tile, now_.thread, now_.lane, to_text(kernel_)));
  }
  LocalArray& array(int32_t number) override { return locals_[static_cast<size_t>(number)]; }
  Stamp& now() override { return now_; }

  void global(const Instr& instr, int64_t lane) {
    const bool load = instr.code == Code::load;
    const Reg where = load ? instr.b : instr.c;
    if (where != kNone && integer(where, lane) == 0) {
      if (load) at(instr.dst, lane) = convert_scalar(instr.type, DType::f64, {instr.number, 0});
      return;
    }
    const int64_t element = place(instr, lane);
    if (instr.aligned && integer(instr.a) % lanes_ != 0) fault('b', instr, element, "is not aligned as stated");
    if (load) {
      at(instr.dst, lane) = read(instr, element);
      return;
    }
    const Scalar value = get(instr.b, lane);
    const Memory& memory = checked(instr, element, note_write);
    store_element(memory.dtype, memory.data, element,
                  is_float(memory.dtype) ? value.number : static_cast<double>(value.integer));
  }

  // Returns the buffer's memory after `note` has noted and judged an access to one element.
  const Memory& checked(const Instr& instr, int64_t element, const char* (*note)(Cell&, const Stamp&)) {
    const Memory& memory = buffers_[static_cast<size_t>(instr.buffer)];
    if (element < 0 || element >= memory.elements) fault('b', instr, element, "is out of bounds");
    Cell& cell = cells_[owner_[static_cast<size_t>(instr.buffer)]][static_cast<size_t>(element)];
    if (const char* what = note(cell, now_)) fault('b', instr, element, what);
    return memory;
  }

  Scalar read(const Instr& instr, int64_t element) override {
    const Memory& memory = checked(instr, element, note_read);
    const double value = load_element(memory.dtype, memory.data, element);
    return is_float(memory.dtype) ? Scalar{value, 0} : Scalar{0, static_cast<int64_t>(value)};
  }

  // Packs the lanes' booleans, which are all known here.
  void store_bits(const Instr& instr) {
    ensure(lanes_ == kPackedBits && valid_ == kPackedBits, "packed bits of other than eight valid lanes");
    int64_t byte = 0;
    for (int64_t lane = 0; lane < kPackedBits; ++lane) byte |= (integer(instr.b, lane) != 0 ? 1 : 0) << lane;
    const int64_t element = integer(instr.a);
    const Memory& memory = checked(instr, element, note_write);
    store_element(memory.dtype, memory.data, element, static_cast<double>(byte));
  }

  void declare(const Instr& instr) {
    const size_t number = static_cast<size_t>(instr.buffer);
    if (locals_.size() <= number) locals_.resize(number + 1);
    LocalArray& array = locals_[number];
    array = {instr.type, instr.storage, instr.integer, instr.tile.rows, instr.tile.columns, 1, {}, {}};
    if (kernel_.block_threads > 0 && now_.thread < 0 && instr.storage == Storage::register_)
      array.copies = kernel_.block_threads;
    array.values.resize(static_cast<size_t>(array.extent * array.copies));
    array.cells.resize(array.values.size());
  }

  void local(const Instr& instr, int64_t lane) {
    LocalArray& array = locals_[static_cast<size_t>(instr.buffer)];
    const int64_t element = place(instr, lane);
    if (instr.aligned && integer(instr.a) % lanes_ != 0) fault('l', instr, element, "is not aligned as stated");
    if (element < 0 || element >= array.extent) fault('l', instr, element, "is out of bounds");
    // Outside thread loops every thread of a block does the same, each on its own copy.
    const bool all = array.copies > 1 && now_.thread < 0;
    const int64_t first = all || array.copies == 1 ? 0 : now_.thread, end = all ? array.copies : first + 1;
    for (int64_t copy = first; copy < end; ++copy) {
      const size_t i = static_cast<size_t>(copy * array.extent + element);
      Stamp stamp = now_;
      if (array.copies > 1) stamp.thread = static_cast<int32_t>(copy);
      const bool load = instr.code == Code::local_load;
      if (const char* what = load ? note_read(array.cells[i], stamp) : note_write(array.cells[i], stamp))
        fault('l', instr, element, what);
      if (!load) {
        array.values[i] = get(instr.b, lane);
      } else if (copy == first) {
        at(instr.dst, lane) = array.values[i];
      } else if (!same(at(instr.dst, lane), array.values[i])) {
        fault('l', instr, element, "differs between threads where all of them read it");
      }
    }
  }

  static bool same(const Scalar& x, const Scalar& y) {
    return std::bit_cast<uint64_t>(x.number) == std::bit_cast<uint64_t>(y.number) && x.integer == y.integer;
  }

  void loop(const Instr& instr) {
    const int64_t begin = integer(instr.a), end = integer(instr.b);
    if (instr.bind == Bind::lane) return lanes(instr, end);
    for (int64_t i = begin; i < end; i += instr.integer) {
      if (instr.bind == Bind::thread) now_.thread = static_cast<int32_t>(i);
      at(instr.dst, 0).integer = i;
      body(instr.body);
    }
    if (instr.bind == Bind::thread) now_.thread = -1;
  }

  void lanes(const Instr& instr, int64_t count) {
    ensure(count <= kMaxLanes, "a lane loop of too many lanes");
    lanes_ = count;
    valid_ = instr.valid == kNone ? count : std::clamp<int64_t>(integer(instr.valid), 0, count);
    if (valid_ == 0) return;
    now_.lane_loop = lane_loops_++;
    for (int64_t lane = 0; lane < valid_; ++lane) at(instr.dst, lane).integer = lane;
    body(instr.body);
    now_.lane_loop = -1;
  }

  // Counts a block, and runs the body in the one that counts last, which alone sees what the other blocks wrote. The
  // counter itself is not checked for races.
  void last_block(const Instr& instr) {
    const Memory& counter = buffers_[static_cast<size_t>(instr.buffer)];
    const int64_t at = integer(instr.a), blocks = integer(instr.b);
    ensure(at >= 0 && at < counter.elements, "last_block: no such counter");
    const double before = load_element(counter.dtype, counter.data, at);
    ensure(before >= 0 && before < static_cast<double>(blocks), "last_block: the counter is not 0 at the start");
    const bool last = before + 1 == static_cast<double>(blocks);
    store_element(counter.dtype, counter.data, at, last ? 0 : before + 1);
    if (!last) return;
    const int32_t period = now_.period;
    now_.period = ++last_period_;
    now_.epoch++;
    body(instr.body);
    now_.period = period;
  }

  const Kernel& kernel_;
  std::span<const int64_t> arguments_;
  std::span<const Memory> buffers_;
  std::vector<Scalar> values_;
  std::vector<DType> types_;
  std::vector<bool> varying_;
  std::vector<size_t> owner_;             // number of the first buffer with the same memory, by buffer
  std::vector<std::vector<Cell>> cells_;  // one cell for each element, by owner
  std::vector<LocalArray> locals_;
  Stamp now_{0, 0, 0, -1, -1, -1};
  int64_t tile_ = 0, lanes_ = 1, valid_ = 1;
  int32_t lane_loops_ = 0, last_period_ = 0;
  Tiles tiles_;
};

}  // namespace

void run(const Kernel& kernel, std::span<const int64_t> arguments, std::span<const int64_t> tiles,
         std::span<const Memory> buffers) {
  ensure(static_cast<int64_t>(arguments.size()) == kernel.arguments, "kernel IR: number of arguments");
  ensure(tiles.size() == kernel.phases.size(), "kernel IR: number of phases");
  ensure(buffers.size() == kernel.buffers.size(), "kernel IR: number of buffers");
  for (size_t i = 0; i < buffers.size(); ++i)
    ensure(buffers[i].dtype == kernel.buffers[i].dtype, "kernel IR: type of a buffer");
  Machine machine(kernel, arguments, buffers);
  for (size_t i = 0; i < tiles.size(); ++i) machine.phase(kernel.phases[i], tiles[i]);
}

}  // namespace kb::ir
