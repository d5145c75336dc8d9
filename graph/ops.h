// The table of ops: one row holds all that is known of an op by name. A point-wise op is wholly described by its row in
// graph/pointwise_ops.inc: the DSL, shape rule, gradient, interpreters, kernels and the tests that walk the table all
// read it.
#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "graph/dtype.h"

namespace kb {

enum class Op : uint8_t {
  // leaves
  input,
  variable,
  constant,
  iota,
  count,
  extent,
  random_bits,
#define KB_POINTWISE(name, arity, ...) name,
#include "graph/pointwise_ops.inc"
  // movement
  broadcast,
  reshape,
  transpose,
  slice,
  pad,
  concat,
// reductions
#define KB_REDUCTION(name, ...) name,
#include "graph/reductions.inc"
  argmax,
  moments,
  // windows
  max_pool,
  max_pool_grad,
  take_at_index,
  sum_pool,
  sum_pool_grad,
  // indexed
  gather,
  scatter_add,
  crop,
  // library
  matmul,
  conv2d,
  conv2d_input_grad,
  conv2d_weight_grad,
  pack_weights,
  // markers
  stop_gradient,
  worker_sum,
  all_reduce,
  kCount
};

enum class OpClass : uint8_t { leaf, pointwise, movement, reduction, window, indexed, library, marker };

// Dtypes that a point-wise op takes and gives: `floats` = all arguments of one float dtype, the result too;
// `arithmetic` = floats or integers; `compare` = any one dtype, result boolean; `bits` = one integer dtype or boolean;
// `integers` = one integer dtype; `special` = its own rule (select, cast, logical_not).
enum class TypeRule : uint8_t { none, floats, arithmetic, compare, bits, integers, special };

// The time that one element of a point-wise op takes: as long as an addition; several times that; or that of a function
// of the C library, which narrower floats than f64 compute by a polynomial (compiler/kernel_math.h). A composite costs
// at least what its formula calls.
enum class OpCost : uint8_t { cheap, slow, function };

// The value that an op on two arguments leaves the other argument with: none where there is no such value. lowest and
// highest are those of the dtype.
enum class Neutral : uint8_t { none, zero, one, lowest, highest };

struct OpDomain {
  double low = 0, high = 0;
};

// One row of the table. A point-wise op whose `formula` is not empty is a composite of others over x (and y, z):
// interpreter, derivative and kernels expand it. One whose `formula` is empty is primitive: `real` and `integer` say
// what it gives, `infix` or `helper` how it is written in C++ and in CUDA C++.
struct OpInfo {
  Op op;
  std::string_view name;
  int8_t arity;  // -1: any number
  OpClass cls;
  std::string_view doc;

  OpCost cost = OpCost::cheap;
  TypeRule rule = TypeRule::none;
  std::string_view formula = {};  // the language is that of graph/formula.h
  // d(op)/d(argument i) over x, y, z (the arguments) and r (the result); empty = derived from the formula symbolically,
  // or "0" for ops with no gradient.
  std::string_view derivatives[3] = {};
  bool exact = false;  // the result is one of the arguments, or exact in any float dtype: it needs no rounding
  // In f64; narrower floats round the result. Null for ops of bits.
  double (*real)(double x, double y, double z) = nullptr;
  // The value on integers of `bits` bits, booleans 0 and 1; the result counts modulo 2^bits. Null for ops of floats
  // alone.
  int64_t (*integer)(int64_t x, int64_t y, int64_t bits) = nullptr;
  std::string_view infix = {};  // "+": the operator of both languages
  // The function of both preludes (compiler/print_prelude.h) that the op is a call of; beside an infix, of integers
  // alone.
  std::string_view helper = {};
  // The greatest error of an OpCost::function in f32 in units in the last place, for |x| up to `ulps_to` and for
  // infinities.
  double ulps = 0;
  double ulps_to = std::numeric_limits<double>::infinity();
  OpDomain smooth = {-2, 2};  // of arguments where the op has a derivative, but at single points: tests draw from it

  // Set by the rows of graph/reductions.inc alone: the point-wise op that joins two elements, and its neutral value.
  Op combine = Op::kCount;
  Neutral neutral = Neutral::none;
};

const OpInfo& info(Op op);
std::span<const OpInfo> all_ops();
inline std::string_view name(Op op) { return info(op).name; }
inline bool is_pointwise(Op op) { return info(op).cls == OpClass::pointwise; }
// Whether the op reduces by one point-wise op.
inline bool is_fold(Op op) { return info(op).neutral != Neutral::none; }
// Whether both languages write the op on this dtype as a call of `helper`.
inline bool is_helper_call(Op op, DType dtype) {
  return !info(op).helper.empty() && (info(op).infix.empty() || !is_float(dtype));
}
// Throws Error on an unknown name.
Op parse_op(std::string_view text);

}  // namespace kb
