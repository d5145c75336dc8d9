// Writes one KernelIR kernel. An instruction without side effects goes to the outermost open block in which all its
// operands exist, and an equal one there is reused: loop-invariant code is outside its loops, per-lane code inside lane
// loops, and common sub-expressions are shared without a pass. `finish` drops what nothing uses and numbers registers
// in order of appearance, so that equal kernels have equal text.
#pragma once
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/kernel_ir.h"

namespace kb::ir {

// A local array: `extent` elements that loops of one block share.
struct Local {
  int32_t id = -1;
  DType type = DType::f32;
  Storage storage = Storage::register_;
};

class Builder {
 public:
  Builder(std::string kind, int64_t lanes, int64_t block_threads = 0);

  int64_t lanes() const { return lanes_; }
  DType type(Reg reg) const { return info_[static_cast<size_t>(reg)].type; }
  bool lane_varying(Reg reg) const { return info_[static_cast<size_t>(reg)].lane_varying; }
  // Nesting of the block that sets it: 0 is outside all loops.
  int32_t depth_of(Reg reg) const { return info_[static_cast<size_t>(reg)].depth; }
  // True for the variable of a lane loop.
  bool is_lane(Reg reg) const { return info_[static_cast<size_t>(reg)].is_lane; }
  // Whether what is written now is inside a lane loop.
  bool in_lanes() const;
  // False once the block that sets it is closed: its value cannot be used any more.
  bool alive(Reg reg) const;
  // True and the value when `reg` is an i64 constant.
  bool literal(Reg reg, int64_t* value) const;
  // True and the value when `reg` is a constant of another type.
  bool number(Reg reg, double* value) const;

  // Parts of the kernel.
  int32_t add_buffer(const BufferParam& param);
  DType buffer_type(int32_t buffer) const { return kernel_.buffers[static_cast<size_t>(buffer)].dtype; }
  int64_t add_argument() { return kernel_.arguments++; }  // its number
  void set_streaming_argument(int64_t number) { kernel_.streaming_argument = static_cast<int32_t>(number); }
  void phase(const std::function<void()>& body);
  // The kernel; the builder is spent.
  Kernel finish();

  // Values. `compute`'s result type is the first argument's (compare: boolean; select: the second's).
  Reg constant(DType type, double value);
  Reg compute(Op op, Reg a, Reg b = kNone, Reg c = kNone);
  Reg fma(Reg a, Reg b, Reg c);
  Reg bitcast(DType type, Reg a);
  // `a` itself where it has that type; on a GPU also a value of that type that `a` equals (rewrites.cpp).
  Reg convert(DType type, Reg a);

  // Index arithmetic (i64), literals folded.
  Reg index(int64_t value);
  Reg argument(int64_t number);
  Reg tile();
  Reg add(Reg a, Reg b);
  Reg sub(Reg a, Reg b);
  Reg mul(Reg a, Reg b);
  Reg mul_add(Reg a, Reg b, Reg c);  // a * b + c
  Reg div(Reg a, Reg b);             // of non-negative numbers, as mod
  Reg mod(Reg a, Reg b);
  Reg min(Reg a, Reg b);
  Reg max(Reg a, Reg b);
  Reg less(Reg a, Reg b);  // boolean

  // Memory. With Access::contiguous `at` is the index of lane 0, and lane l reaches at + l. A load of a buffer that
  // this kernel does not write moves out of loops as other instructions do, but never out of a branch.
  // `ahead`: elements further on that will be wanted soon, 0 where that is not known. `aligned`: lane 0 is at a
  // multiple of the lanes (noted for a GPU alone).
  Reg load(int32_t buffer, Reg at, Access access, Reg where = kNone, double otherwise = 0, int64_t ahead = 0,
           bool aligned = false);
  void store(int32_t buffer, Reg at, Access access, Reg value, bool streaming, Reg where = kNone, bool aligned = false);
  Local local(DType type, int64_t extent, Storage storage = Storage::register_);
  Reg local_load(const Local& local, Reg at, Access access, bool aligned = false);
  void local_store(const Local& local, Reg at, Access access, Reg value, bool aligned = false);

  // Control. A serial loop of at most one round is no loop.
  using Body = std::function<void(Reg)>;
  void loop(Reg begin, Reg end, int64_t step, const Body& body, int32_t unroll = 1);
  void threads(const Body& body);               // 0 .. block_threads
  void lane_loop(Reg valid, const Body& body);  // valid kNone: all lanes; body gets the lane number
  void branch(Reg condition, const std::function<void()>& body);
  void last_block(int32_t counter, Reg at, Reg blocks, const std::function<void()>& body);
  void barrier();

 private:
  struct RegInfo {
    DType type = DType::f32;
    int32_t depth = 0;  // block in which it is set
    bool lane_varying = false;
    bool is_literal = false;
    bool is_lane = false;
    int32_t block = 0;  // number of the block that sets it
    int64_t literal = 0;
    Reg narrow = kNone;  // the bf16 or f16 that it was converted from
    Reg wide = kNone;    // of a bf16 or f16: an f32 that equals it
    // The instruction that sets it, for rewrites: a constant, a conversion, an operation.
    Code code = Code::tile;
    Op op = Op::add;
    Reg a = kNone, b = kNone, c = kNone;
    double number = 0;
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
    bool fence = false;  // loads stay inside
    bool lane = false;
  };

  int32_t depth() const { return static_cast<int32_t>(blocks_.size()) - 1; }
  int32_t operand_depth(const Instr& instr) const;
  bool is_aligned(bool aligned, Access access) const {
    return aligned && access == Access::contiguous && kernel_.block_threads > 0;
  }
  Reg fresh(DType type, int32_t depth, bool lane_varying);
  Reg pure(Instr instr, int32_t least_depth = 0);
  // Exact rewrites, on a GPU alone: fewer operations for the same values.
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
