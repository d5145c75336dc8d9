// A Builder writes one KernelIR kernel. An instruction without side effects goes to the outermost open block in which
// all its operands exist, and an equal one there is reused: loop-invariant code is outside its loops, per-lane code
// inside lane loops, and common sub-expressions are shared without a pass. `finish` drops what nothing uses and numbers
// registers in order of appearance, so that equal kernels have equal text.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/kernel_ir.h"

namespace kb::ir {

// The handle of a local array, which its block of instructions and the blocks inside that may use.
struct Local {
  int32_t id = -1;
  DType type = DType::f32;
  Storage storage = Storage::register_;
};

// One of the matrices of a local array.
struct Matrix {
  Local local;
  Reg number = kNone;
  bool transposed = false;
};

// The source of a tile_copy, whose `valid_rows` rows and `valid_columns` columns are there.
struct TileCopy {
  int32_t buffer = -1;
  Reg at = kNone, pitch = kNone, valid_rows = kNone, valid_columns = kNone;
};

class Builder {
 public:
  Builder(std::string kind, int64_t lanes, int64_t block_threads = 0);

  int64_t lanes() const { return lanes_; }
  DType type(Reg reg) const { return info_[static_cast<size_t>(reg)].type; }
  bool lane_varying(Reg reg) const { return info_[static_cast<size_t>(reg)].lane_varying; }
  // Returns the nesting depth of the block that sets `reg`; 0 is outside all loops.
  int32_t depth_of(Reg reg) const { return info_[static_cast<size_t>(reg)].depth; }
  // Returns whether `reg` is the variable of a lane loop.
  bool is_lane(Reg reg) const { return info_[static_cast<size_t>(reg)].is_lane; }
  // Returns whether what is written now is inside a lane loop.
  bool in_lanes() const;
  // Returns false once the block that sets `reg` is closed: its value cannot be used any more.
  bool alive(Reg reg) const;
  // Returns the number of an i64 constant; nothing of other registers.
  std::optional<int64_t> literal(Reg reg) const;
  // Returns the number of a constant of another type; nothing of other registers.
  std::optional<double> number(Reg reg) const;

  // ---- parts of the kernel ----
  int32_t add_buffer(const BufferParam& param);
  DType buffer_type(int32_t buffer) const { return kernel_.buffers[static_cast<size_t>(buffer)].dtype; }
  int64_t add_argument() { return kernel_.arguments++; }  // returns its number
  void set_streaming_argument(int64_t number) { kernel_.streaming_argument = static_cast<int32_t>(number); }
  void phase(const std::function<void()>& body);
  // Returns the kernel; the builder cannot be used after that.
  Kernel finish();

  // ---- values ----

  // The result of `compute` has the type of its first argument (a comparison: boolean; select: the second's type).
  Reg constant(DType type, double value);
  Reg compute(Op op, Reg a, Reg b = kNone, Reg c = kNone);
  Reg fma(Reg a, Reg b, Reg c);
  Reg bitcast(DType type, Reg a);
  // Converts `a`. Returns `a` itself if it has that type, and on a GPU a known value of that type that equals `a`
  // (rewrites.cpp).
  Reg convert(DType type, Reg a);

  // ---- index arithmetic on i64, which folds literals ----

  Reg index(int64_t value);
  Reg argument(int64_t number);
  Reg tile();
  Reg add(Reg a, Reg b);
  Reg sub(Reg a, Reg b);
  Reg mul(Reg a, Reg b);
  Reg mul_add(Reg a, Reg b, Reg c);  // a * b + c
  Reg div(Reg a, Reg b);             // operands are not negative, here and in mod
  Reg mod(Reg a, Reg b);
  Reg min(Reg a, Reg b);
  Reg max(Reg a, Reg b);
  Reg less(Reg a, Reg b);  // returns a boolean

  // ---- memory ----

  // With Access::contiguous `at` is the index of lane 0, and lane l reaches at + l. A load of a buffer that this kernel
  // does not write moves out of loops as other instructions do, but never out of a branch. `ahead` is the distance, in
  // elements, to the element that will be wanted soon, 0 if that is unknown. `aligned` says that lane 0 is at a
  // multiple of the lanes (noted for a GPU alone). If the boolean `where` is false, a load gives `otherwise` and a
  // store does nothing.
  Reg load(int32_t buffer, Reg at, Access access, Reg where = kNone, double otherwise = 0, int64_t ahead = 0,
           bool aligned = false);
  void store(int32_t buffer, Reg at, Access access, Reg value, bool streaming, Reg where = kNone, bool aligned = false);
  // Stores the booleans of a lane loop's eight lanes as the bits of one u8 element, lane 0's the lowest.
  void store_bits(int32_t buffer, Reg at, Reg value);
  Local local(DType type, int64_t extent, Storage storage = Storage::register_);
  Reg local_load(const Local& local, Reg at, Access access, bool aligned = false);
  void local_store(const Local& local, Reg at, Access access, Reg value, bool aligned = false);

  // ---- products of matrices, which a whole block works on (kernel_ir.h) ----

  // Lets warpgroups multiply the products of this kernel.
  void use_warpgroups() { kernel_.warpgroups = true; }
  Local accumulators(int64_t rows, int64_t columns);
  // Declares block storage for `count` matrices, of which a warpgroup multiplies `part` columns at once.
  Local matrices(DType type, int64_t count, int64_t rows, int64_t columns, int64_t part);
  void tile_copy(const TileCopy& from, const Matrix& to);
  void tile_group();
  void tile_wait(int64_t under_way);
  void tile_mma(const Local& accumulators, const Matrix& a, const Matrix& b);
  void tile_store(const Local& accumulators, const Local& to, int64_t pitch);

  // ---- control ----

  // A serial loop that is known to have at most one round becomes no loop.
  using Body = std::function<void(Reg)>;
  void loop(Reg begin, Reg end, int64_t step, const Body& body, int32_t unroll = 1);
  void threads(const Body& body);               // from 0 to block_threads
  void lane_loop(Reg valid, const Body& body);  // `valid` lanes, all if kNone; body gets the lane number
  void branch(Reg condition, const std::function<void()>& body);
  void last_block(int32_t counter, Reg at, Reg blocks, const std::function<void()>& body);
  void barrier();

 private:
  struct RegInfo {
    DType type = DType::f32;
    int32_t depth = 0;  // nesting depth of the block that sets it
    bool lane_varying = false;
    bool is_lane = false;
    int32_t block = 0;   // number of the block that sets it
    Reg narrow = kNone;  // the bf16 or f16 register that it was converted from
    Reg wide = kNone;    // an f32 register that equals it, if it is a bf16 or f16
    // The parts of the instruction that sets it, which rewrites read.
    Code code = Code::tile;
    Op op = Op::add;
    Reg a = kNone, b = kNone, c = kNone;
    double number = 0;
    int64_t integer = 0;
  };
  struct Key {
    Instr instr;
    bool operator==(const Key& other) const;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };
  struct Block {
    std::vector<Instr> instrs;
    std::unordered_map<Key, Reg, KeyHash> known;
    int32_t number = 0;
    bool fence = false;  // true if loads do not move out of the block
    bool lane = false;
  };

  int32_t depth() const { return static_cast<int32_t>(blocks_.size()) - 1; }
  int32_t operand_depth(const Instr& instr) const;
  bool is_aligned(bool aligned, Access access) const {
    return aligned && access == Access::contiguous && kernel_.block_threads > 0;
  }
  Reg fresh(DType type, int32_t depth, bool lane_varying);
  Reg pure(Instr instr, int32_t least_depth = 0);
  // These are exact rewrites, for a GPU alone: the same values by fewer operations (rewrites.cpp).
  Reg equal_in(DType low, Reg a);
  Reg rewritten_comparison(Op op, Reg a, Reg b);
  bool is_constant(Reg reg, double number) const;
  bool is_rectified(Reg reg) const;
  Reg index_op(Code code, Reg a, Reg b, DType type = DType::i64);
  void effect(Instr instr);
  void open(bool fence, bool lane);
  std::vector<Instr> close();
  void bound_loop(Instr loop, const Body& body);

  Kernel kernel_;
  int64_t lanes_;
  std::vector<RegInfo> info_;
  std::vector<Block> blocks_;
  int32_t locals_ = 0;
  int32_t opened_ = 0;
};

// Drops what nothing uses and numbers registers in order of appearance.
void tidy(Kernel& kernel);

}  // namespace kb::ir
