// Exact rewrites of values that were rounded to 16 bits, made while a kernel for a GPU is written. Rounding and
// comparing take a GPU's integer and logic pipe, which can be the bottleneck of kernels that memory would otherwise
// limit. A NaN stays a NaN.
//   rounding a value that 16 bits hold     gives that value: one widened from 16 bits, a constant, a select among such
//   round(x) > 0, and <, <=, >=            compares x with the largest number that is rounded to zero
//   max(x, 0) > t, t >= 0                  becomes x > t
#include <bit>
#include <cmath>

#include "compiler/kernel/builder.h"

namespace kb::ir {
namespace {

// Returns the largest f32 that is rounded to 0: half of the smallest positive number of `low`, as ties go to even.
double rounded_to_zero(DType low) { return std::ldexp(1.0, low == DType::bf16 ? -134 : -25); }

}  // namespace

bool Builder::is_constant(Reg reg, double number) const {
  const RegInfo& set = info_[static_cast<size_t>(reg)];
  return set.code == Code::constant && set.type == DType::f32 && set.number == number;
}

// Returns whether `reg` is select(x < 0, 0, x).
bool Builder::is_rectified(Reg reg) const {
  const RegInfo& set = info_[static_cast<size_t>(reg)];
  if (set.code != Code::compute || set.op != Op::select || !is_constant(set.b, 0)) return false;
  const RegInfo& condition = info_[static_cast<size_t>(set.a)];
  return condition.code == Code::compute && condition.op == Op::lt && condition.a == set.c &&
         is_constant(condition.b, 0);
}

// Returns a register of the 16-bit type `low` that equals `a`; kNone if `a` may need rounding.
Reg Builder::equal_in(DType low, Reg a) {
  if (kernel_.block_threads == 0 || type(a) != DType::f32) return kNone;
  const RegInfo set = info_[static_cast<size_t>(a)];
  if (set.narrow != kNone) return type(set.narrow) == low ? set.narrow : kNone;
  if (set.code == Code::constant)
    return std::bit_cast<uint64_t>(round_to(low, set.number)) == std::bit_cast<uint64_t>(set.number)
               ? constant(low, set.number)
               : kNone;
  if (set.code != Code::compute || set.op != Op::select) return kNone;
  const Reg x = equal_in(low, set.b), y = x == kNone ? kNone : equal_in(low, set.c);
  if (y == kNone || !alive(x) || !alive(y) || !alive(set.a)) return kNone;
  const Reg choice = compute(Op::select, set.a, x, y);
  info_[static_cast<size_t>(choice)].wide = a;
  return choice;
}

// Returns a register that equals the comparison and takes fewer operations; kNone if no rewrite fits.
Reg Builder::rewritten_comparison(Op op, Reg a, Reg b) {
  const bool up = op == Op::gt || op == Op::le;
  if (kernel_.block_threads == 0 || !(up || op == Op::lt || op == Op::ge)) return kNone;
  const RegInfo left = info_[static_cast<size_t>(a)], right = info_[static_cast<size_t>(b)];
  if (left.type != DType::f32 || right.code != Code::constant) return kNone;
  if (left.narrow != kNone && right.number == 0) {
    const RegInfo rounded = info_[static_cast<size_t>(left.narrow)];
    if (rounded.code != Code::convert || type(rounded.a) != DType::f32 || !alive(rounded.a)) return kNone;
    const double zero = rounded_to_zero(rounded.type);
    return compute(op, rounded.a, constant(DType::f32, up ? zero : -zero));
  }
  if (op == Op::gt && right.number >= 0 && is_rectified(a)) return compute(op, left.c, b);
  return kNone;
}

}  // namespace kb::ir
