#include "tests/interpreters/verify_kernel.h"

#include <fmt/format.h>

#include "compiler/kernel/math.h"
#include "graph/error.h"

namespace kb::ir {
namespace {

struct RegState {
  DType type = DType::f32;
  bool set = false;      // whether it was ever set: a register is set once
  bool visible = false;  // whether it was set in this block or in one around it
  bool lane_varying = false;
};

struct LocalState {
  DType type = DType::f32;
  Storage storage = Storage::register_;
  bool declared = false;
  bool visible = false;
  bool in_lanes = false;  // whether it was declared inside a lane loop
  Tile tile{};            // extents of accumulators, of each matrix
};

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel) : kernel_(kernel), regs_(static_cast<size_t>(kernel.registers)) {}

  void run() {
    require(kernel_.streaming_argument < kernel_.arguments, "streaming argument out of range");
    require(kernel_.block_threads == 0 || kernel_.phases.size() == 1, "a GPU kernel has one phase");
    for (const Phase& phase : kernel_.phases) body(phase.body);
  }

 private:
  void require(bool holds, const char* what) const {
    if (holds) return;
    throw InternalError(fmt::format("kernel IR: {}{}\n{}", what,
                                    current_ ? fmt::format(" (at r{}, code {}, register {})", current_->dst,
                                                           static_cast<int>(current_->code), current_->a)
                                             : std::string(),
                                    to_text(kernel_)));
  }

  void body(const std::vector<Instr>& instrs) {
    std::vector<Reg> opened;
    std::vector<int32_t> locals;
    for (const Instr& instr : instrs) {
      current_ = &instr;
      check(instr);
      if (instr.code == Code::local) locals.push_back(instr.buffer);
      if (instr.dst == kNone || instr.code == Code::loop) continue;
      define(instr);
      opened.push_back(instr.dst);
    }
    for (Reg reg : opened) regs_[static_cast<size_t>(reg)].visible = false;
    for (int32_t local : locals) locals_[static_cast<size_t>(local)].visible = false;
  }

  void define(const Instr& instr) {
    require(instr.dst >= 0 && instr.dst < kernel_.registers, "register out of range");
    RegState& reg = regs_[static_cast<size_t>(instr.dst)];
    require(!reg.set, "a register is set twice");
    require(!instr.lane_varying || in_lanes_, "a lane-varying register outside a lane loop");
    reg = {instr.type, true, true, instr.lane_varying};
  }

  const RegState& use(Reg reg) const {
    require(reg >= 0 && reg < kernel_.registers && regs_[static_cast<size_t>(reg)].visible, "a register used unset");
    return regs_[static_cast<size_t>(reg)];
  }
  void use(Reg reg, DType type, const char* what) const { require(use(reg).type == type, what); }
  bool varies(Reg reg) const { return reg != kNone && use(reg).lane_varying; }

  void scalar_index(Reg reg) const {
    use(reg, DType::i64, "an index is not i64");
    require(!use(reg).lane_varying, "a lane-varying register where a scalar is wanted");
  }

  void check(const Instr& instr) {
    switch (instr.code) {
      case Code::constant:
      case Code::tile:
        return uniform(instr);
      case Code::argument:
        require(instr.integer >= 0 && instr.integer < kernel_.arguments, "argument out of range");
        return uniform(instr);
      case Code::compute:
      case Code::fma:
      case Code::bitcast:
      case Code::convert:
        return value(instr);
      case Code::load:
      case Code::store:
        return global(instr);
      case Code::store_bits:
        return bits(instr);
      case Code::local:
        return declare(instr);
      case Code::local_load:
      case Code::local_store:
        return local(instr);
      case Code::loop:
        return loop(instr);
      case Code::branch:
        use(instr.a, DType::boolean, "a branch on no boolean");
        require(!varies(instr.a), "a branch on a lane-varying boolean");
        return body(instr.body);
      case Code::barrier:
        return require(kernel_.block_threads > 0 && !in_threads_ && !in_lanes_, "a barrier inside a thread loop");
      case Code::tile_copy:
      case Code::tile_group:
      case Code::tile_wait:
      case Code::tile_mma:
      case Code::tile_store:
        return tile(instr);
      case Code::last_block:
        require(kernel_.block_threads > 0 && !in_threads_ && !in_lanes_, "last_block inside a thread loop");
        buffer(instr, DType::u32);
        scalar_index(instr.a);
        scalar_index(instr.b);
        return body(instr.body);
      default:
        return index(instr);
    }
  }

  void uniform(const Instr& instr) const { require(!instr.lane_varying, "a uniform value marked lane-varying"); }

  void result_varies(const Instr& instr) const {
    require(instr.lane_varying == (varies(instr.a) || varies(instr.b) || varies(instr.c)),
            "lane_varying does not follow from the operands");
  }

  void index(const Instr& instr) const {
    use(instr.a, DType::i64, "an index operand is not i64");
    use(instr.b, DType::i64, "an index operand is not i64");
    if (instr.code == Code::index_mul_add) use(instr.c, DType::i64, "an index operand is not i64");
    require(instr.type == (instr.code == Code::index_lt ? DType::boolean : DType::i64), "type of an index result");
    result_varies(instr);
  }

  void value(const Instr& instr) const {
    result_varies(instr);
    const DType from = use(instr.a).type;
    if (instr.code == Code::fma) {
      require(instr.type == DType::f32 || instr.type == DType::f64, "fma of no f32 or f64");
      for (Reg reg : {instr.a, instr.b, instr.c}) use(reg, instr.type, "fma's operands differ in type");
    } else if (instr.code == Code::bitcast) {
      const auto word = [](DType type) { return type == DType::f32 || type == DType::i32 || type == DType::u32; };
      require(word(from) && word(instr.type), "bitcast between other types than f32, i32, u32");
    } else if (instr.code == Code::compute) {
      compute(instr);
    }
  }

  void compute(const Instr& instr) const {
    const OpInfo& row = info(instr.op);
    require(row.cls == OpClass::pointwise && row.formula.empty() && instr.op != Op::cast, "no primitive op");
    const Reg operands[] = {instr.a, instr.b, instr.c};
    for (int i = 0; i < 3; ++i) require((operands[i] != kNone) == (i < row.arity), "number of operands");
    const bool select = instr.op == Op::select, logical_not = instr.op == Op::logical_not;
    const DType type = use(select ? instr.b : instr.a).type;
    if (select || logical_not) use(instr.a, DType::boolean, "a condition is not boolean");
    for (int i = select ? 1 : 0; i < row.arity; ++i) use(operands[i], type, "operands differ in type");
    const bool to_boolean = row.rule == TypeRule::compare || logical_not;
    require(instr.type == (to_boolean ? DType::boolean : type), "type of a result");
    require(row.rule != TypeRule::floats || is_float(type), "an op of floats on another type");
    require(row.rule != TypeRule::arithmetic || is_float(type) || is_integer(type), "arithmetic on booleans");
    require(row.rule != TypeRule::integers || is_integer(type), "an op of integers on another type");
    require(row.rule != TypeRule::bits || is_integer(type) || type == DType::boolean, "an op of bits on floats");
    require(!is_math(instr.op) || type == DType::f64, "a function that emit_math should have expanded");
  }

  void buffer(const Instr& instr, DType type) const {
    require(instr.buffer >= 0 && instr.buffer < static_cast<int32_t>(kernel_.buffers.size()), "buffer out of range");
    require(kernel_.buffers[static_cast<size_t>(instr.buffer)].dtype == type, "type of a buffer");
  }

  void access(const Instr& instr) const {
    use(instr.a, DType::i64, "an index is not i64");
    require(!varies(instr.a) || instr.access == Access::gather, "access does not fit the index");
    require(instr.access == Access::uniform || in_lanes_, "an access by lane outside a lane loop");
  }

  void loaded(const Instr& instr) const {
    require(instr.lane_varying == (instr.access != Access::uniform || varies(instr.b)),
            "lane_varying does not fit a load");
  }
  // Checks a store. A lane loop may be run as several narrower ones, which would repeat a store for all lanes.
  void stored(const Instr& instr, bool in_own_local) const {
    require(instr.access != Access::uniform || !in_lanes_ || in_own_local, "a store for all lanes in a lane loop");
    use(instr.b, instr.type, "type of a stored value");
    require(instr.access != Access::uniform || !(varies(instr.b) || varies(instr.c)),
            "lanes store different values at one place");
  }

  void global(const Instr& instr) const {
    buffer(instr, instr.type);
    access(instr);
    const BufferParam& param = kernel_.buffers[static_cast<size_t>(instr.buffer)];
    const bool load = instr.code == Code::load;
    require(load ? param.read : param.written, "a buffer used otherwise than declared");
    require(load || kernel_.block_threads == 0 || in_threads_, "a store by every thread of a block");
    require(!instr.aligned || (instr.access == Access::contiguous && kernel_.block_threads > 0),
            "an aligned access that is not contiguous");
    const Reg where = load ? instr.b : instr.c;
    if (where != kNone) use(where, DType::boolean, "a mask is not boolean");
    load ? loaded(instr) : stored(instr, false);
  }

  void bits(const Instr& instr) const {
    buffer(instr, DType::u8);
    scalar_index(instr.a);
    use(instr.b, DType::boolean, "packed bits of no booleans");
    require(kernel_.buffers[static_cast<size_t>(instr.buffer)].written, "a buffer used otherwise than declared");
    require(kernel_.block_threads > 0 && in_threads_ && in_lanes_, "packed bits outside the lanes of a thread");
  }

  void declare(const Instr& instr) {
    const size_t number = static_cast<size_t>(instr.buffer);
    if (locals_.size() <= number) locals_.resize(number + 1);
    require(!locals_[number].declared, "a local array declared twice");
    require(instr.integer > 0, "an empty local array");
    require(instr.storage == Storage::register_ || kernel_.block_threads > 0, "block storage without a block");
    require(instr.storage == Storage::register_ || !(in_threads_ || in_lanes_), "block storage inside a thread loop");
    if (instr.storage == Storage::accumulators) accumulators(instr);
    if (instr.storage == Storage::matrices) matrices(instr);
    locals_[number] = {instr.type, instr.storage, true, true, in_lanes_, instr.tile};
  }

  void accumulators(const Instr& instr) const {
    require(instr.type == DType::f32 && instr.integer == int64_t{instr.tile.rows} * instr.tile.columns,
            "extents of accumulators");
    warp_grid(instr.tile.rows, instr.tile.columns, kernel_.block_threads, kernel_.warpgroups);
  }

  // Eight rows of a panel are the unit that repeats, and a matrix begins at the unit of the widest panel.
  void matrices(const Instr& instr) const {
    const int64_t rows = instr.tile.rows, columns = instr.tile.columns, panel = instr.tile.panel;
    require(is_low_precision(instr.type), "matrices of other than 16 bits");
    require(rows > 0 && columns > 0 && panel == panel_of(panel) && columns % panel == 0, "extents of matrices");
    require(rows % kTileDepth == 0 && rows * panel % 512 == 0 && instr.integer % (rows * columns) == 0,
            "extents of matrices");
  }

  void local(const Instr& instr) const {
    require(instr.buffer >= 0 && static_cast<size_t>(instr.buffer) < locals_.size(), "local array out of range");
    const LocalState& state = locals_[static_cast<size_t>(instr.buffer)];
    require(state.visible && state.type == instr.type && state.storage == instr.storage &&
                state.storage != Storage::accumulators && state.storage != Storage::matrices,
            "use of a local array");
    access(instr);
    instr.code == Code::local_load ? loaded(instr) : stored(instr, state.in_lanes);
  }

  void tile(const Instr& instr) const {
    require(kernel_.block_threads > 0 && !in_threads_ && !in_lanes_, "a product of matrices inside a thread loop");
    const Tile& tile = instr.tile;
    if (instr.code == Code::tile_wait) require(instr.integer >= 0, "groups under way");
    if (instr.code == Code::tile_group || instr.code == Code::tile_wait) return;
    for (const Reg reg : {instr.a, instr.b, instr.c, instr.d, instr.valid})
      if (reg != kNone) scalar_index(reg);
    if (instr.code == Code::tile_copy) {
      buffer(instr, array(tile.local, Storage::matrices).type);
      return require(kernel_.buffers[static_cast<size_t>(instr.buffer)].aligned, "a copy of an unaligned buffer");
    }
    const Tile& sums = array(instr.buffer, Storage::accumulators).tile;
    if (instr.code == Code::tile_store) {
      array(tile.local, Storage::block);
      return require(tile.pitch >= sums.columns, "pitch of a product");
    }
    const LocalState &a = array(tile.local, Storage::matrices), &b = array(tile.other, Storage::matrices);
    require(a.type == b.type, "types of a product");
    const auto [rows, depth] = extents(a.tile, tile.transposed);
    const auto [columns, other_depth] = extents(b.tile, tile.other_transposed);
    require(rows == sums.rows && columns == sums.columns && depth == other_depth, "extents of a product");
    if (!kernel_.warpgroups) return;
    const WarpGrid grid = warp_grid(rows, columns, kernel_.block_threads, true);
    require((!tile.transposed || kWarpgroupRows % a.tile.panel == 0) &&
                (!tile.other_transposed || columns / grid.across % b.tile.panel == 0),
            "panels that warpgroups share");
  }

  // Returns the extents of a matrix in a product: the rows, or columns, of the result that it has, and its depth.
  static std::pair<int32_t, int32_t> extents(const Tile& matrix, bool transposed) {
    return transposed ? std::pair(matrix.columns, matrix.rows) : std::pair(matrix.rows, matrix.columns);
  }

  const LocalState& array(int32_t number, Storage storage) const {
    require(number >= 0 && static_cast<size_t>(number) < locals_.size(), "local array out of range");
    const LocalState& state = locals_[static_cast<size_t>(number)];
    require(state.visible && state.storage == storage, "use of a local array");
    return state;
  }

  void loop(const Instr& instr) {
    scalar_index(instr.a);
    scalar_index(instr.b);
    require(instr.integer > 0, "a loop's step");
    require(instr.valid == kNone || instr.bind == Bind::lane, "valid lanes of another loop");
    if (instr.valid != kNone) scalar_index(instr.valid);
    require(instr.bind != Bind::thread || (kernel_.block_threads > 0 && !in_threads_ && !in_lanes_),
            "a thread loop inside another, or without a block");
    require(instr.bind != Bind::lane || !in_lanes_, "a lane loop inside another");
    require(instr.lane_varying == (instr.bind == Bind::lane), "lane_varying of a loop variable");
    bool& inside = instr.bind == Bind::thread ? in_threads_ : instr.bind == Bind::lane ? in_lanes_ : unused_;
    const bool before = inside;
    inside = true;
    define(instr);
    body(instr.body);
    inside = before;
    regs_[static_cast<size_t>(instr.dst)].visible = false;
  }

  const Kernel& kernel_;
  std::vector<RegState> regs_;
  std::vector<LocalState> locals_;
  const Instr* current_ = nullptr;
  bool in_threads_ = false, in_lanes_ = false, unused_ = false;
};

}  // namespace

void verify(const Kernel& kernel) { Verifier(kernel).run(); }

}  // namespace kb::ir
