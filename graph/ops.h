// The table of ops: one row holds all that is known of an op. The row of a point-wise op in graph/pointwise_ops.inc
// describes it wholly: the DSL, the shape rule, the gradient, interpreters, kernels and tests all read it.
#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "graph/dtype.h"

namespace kb {

enum class Op : uint8_t {
  // Leaves have no inputs.
  input,
  variable,
  constant,
  iota,
  count,
  extent,
  random_bits,
#define KB_POINTWISE(name, arity, ...) name,
#include "graph/pointwise_ops.inc"
  // Movement ops hold their input's elements in another place, or booleans as bits.
  broadcast,
  reshape,
  transpose,
  slice,
  pad,
  concat,
  pack_bits,
  unpack_bits,
// Reductions reduce over axes.
#define KB_REDUCTION(name, ...) name,
#include "graph/reductions.inc"
  argmax,
  moments,
  // Ops on windows of two axes.
  max_pool,
  max_pool_grad,
  take_at_index,
  sum_pool,
  sum_pool_grad,
  // Ops that read or write at given indices.
  gather,
  index_order,
  scatter_add,
  crop,
  // Ops that a library computes.
  matmul,
  conv2d,
  conv2d_input_grad,
  conv2d_weight_grad,
  pack_weights,
  flash_attention,
  flash_attention_grad,
  // Markers return their input.
  stop_gradient,
  worker_sum,
  all_reduce,
  kCount
};

enum class OpClass : uint8_t { leaf, pointwise, movement, reduction, window, indexed, library, marker };

// The dtypes that a point-wise op takes and gives. floats: all arguments and the result have one float dtype.
// arithmetic: one float or integer dtype. compare: arguments of any one dtype, a boolean result. bits: one integer
// dtype, or boolean. integers: one integer dtype. special: a rule of its own (select, cast, logical_not).
enum class TypeRule : uint8_t { none, floats, arithmetic, compare, bits, integers, special };

// The time that one element of a point-wise op takes. cheap: as long as an addition. slow: several times that.
// function: as long as a function of the C library, which floats narrower than f64 compute by a polynomial
// (compiler/kernel/math.h). A composite costs at least what the ops in its formula do.
enum class OpCost : uint8_t { cheap, slow, function };

// The argument of an op on two arguments that leaves the other as it is; none: there is no such argument. lowest and
// highest are the least and the greatest number of the dtype.
enum class Neutral : uint8_t { none, zero, one, lowest, highest };

struct OpDomain {
  double low = 0, high = 0;
};

// One row of the table. A point-wise op with a `formula` is a composite of other ops over x, y and z: the interpreter,
// the derivative and the kernels expand it. One without is primitive: `real` and `integer` compute it, and `infix` or
// `helper` says how it is written in C++ and in CUDA C++.
struct OpInfo {
  Op op;
  std::string_view name;
  int8_t arity;  // -1: any number of inputs
  OpClass cls;
  std::string_view doc;

  OpCost cost = OpCost::cheap;
  TypeRule rule = TypeRule::none;
  std::string_view formula = {};  // a text in the language of graph/formula.h
  // d(op)/d(argument i) over x, y, z (the arguments) and r (the result). An empty one is derived from the formula
  // symbolically. "0": no gradient flows.
  std::string_view derivatives[3] = {};
  // True: the result is one of the arguments, or every float dtype holds it exactly, so it needs no rounding.
  bool exact = false;
  // Computes the op in f64; for narrower floats the result is rounded. Null for ops on bits.
  double (*real)(double x, double y, double z) = nullptr;
  // Computes the op on integers of `bits` bits, booleans as 0 and 1. Of the result the lowest `bits` bits count. Null
  // for ops on floats alone.
  int64_t (*integer)(int64_t x, int64_t y, int64_t bits) = nullptr;
  std::string_view infix = {};  // the operator of C++ and of CUDA C++, as "+"
  // The function that the op is a call of, in the prelude of either language (compiler/print/prelude.h). If there is an
  // infix too, only integers call the function.
  std::string_view helper = {};
  // The greatest error in f32 of an op of OpCost::function, in units in the last place, for |x| <= `ulps_to` and for
  // infinities.
  double ulps = 0;
  double ulps_to = std::numeric_limits<double>::infinity();
  // Arguments in this range have a derivative, except at single points; tests draw from it.
  OpDomain smooth = {-2, 2};

  // Only the rows of graph/reductions.inc have these: the point-wise op that joins two elements, and its neutral value.
  Op combine = Op::kCount;
  Neutral neutral = Neutral::none;
};

const OpInfo& info(Op op);
std::span<const OpInfo> all_ops();
inline std::string_view name(Op op) { return info(op).name; }
inline bool is_pointwise(Op op) { return info(op).cls == OpClass::pointwise; }
// Returns whether the op is a reduction by one point-wise op.
inline bool is_fold(Op op) { return info(op).neutral != Neutral::none; }
// Returns whether both languages write the op on this dtype as a call of `helper`.
inline bool is_helper_call(Op op, DType dtype) {
  return !info(op).helper.empty() && (info(op).infix.empty() || !is_float(dtype));
}
// Returns the op that its row calls `text`. Throws Error when there is none.
Op parse_op(std::string_view text);

}  // namespace kb
