// The table of ops: one row holds all that is known of an op by name. A point-wise op is wholly described by its row:
// the DSL, shape rule, gradient, interpreter, kernels and the tests that walk the table all read it.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

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
  // point-wise, one argument
  neg,
  abs,
  sign,
  exp,
  log,
  log1p,
  sqrt,
  rsqrt,
  tanh,
  sigmoid,
  softplus,
  erf,
  sin,
  cos,
  relu,
  gelu,
  silu,
  floor,
  logical_not,
  cast,
  // point-wise, two arguments
  add,
  sub,
  mul,
  div,
  maximum,
  minimum,
  pow,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  bit_and,
  bit_or,
  bit_xor,
  shift_left,
  shift_right,
  mul_high,
  carry,
  // point-wise, three arguments
  select,
  // movement
  broadcast,
  reshape,
  transpose,
  slice,
  pad,
  concat,
  // reductions
  reduce_sum,
  reduce_max,
  reduce_min,
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

// Dtypes that a point-wise op takes and gives: `same` = all arguments one float dtype, result the same; `arithmetic` =
// floats or integers; `compare` = any one dtype, result boolean; `bits` = one integer dtype or boolean; `special` = its
// own rule (select, cast, logical_not).
enum class TypeRule : uint8_t { none, same, arithmetic, compare, bits, special };

// A point-wise op whose `formula` is not empty is a composite of others over x (and y, z): interpreter, derivative and
// kernels expand it. One whose `formula` is empty is primitive. `derivatives[i]` is d(op)/d(argument i) over x, y, z
// (the arguments) and r (the result); empty = derived from the formula symbolically, or "0" for ops with no gradient.
// The language is that of graph/formula.h.
struct OpInfo {
  Op op;
  std::string_view name;
  int8_t arity;  // -1: any number
  OpClass cls;
  TypeRule rule;
  std::string_view formula;
  std::string_view derivatives[3];
  std::string_view doc;
};

const OpInfo& info(Op op);
std::span<const OpInfo> all_ops();
inline std::string_view name(Op op) { return info(op).name; }
inline bool is_pointwise(Op op) { return info(op).cls == OpClass::pointwise; }
// Throws Error on an unknown name.
Op parse_op(std::string_view text);

}  // namespace kb
