// Transcendental functions as KernelIR: range reduction and a polynomial from +, -, *, /, fma, floor, bitcasts and
// integer arithmetic only, so that every processor, vector body and tail give the same bits.
#pragma once
#include "compiler/kernel_builder.h"

namespace kb::ir {

// Ops that are no instruction of their own in f32, bf16 and f16. In f64 they are, and call the C library.
bool is_expanded(Op op);

// op(x) or op(x, y) for values of type `dtype`, bf16 and f16 by way of f32; ops that are not expanded become one
// `compute`. Greatest errors in f32, in units in the last place of the exact result, over every 4,093rd float and dense
// grids (pow: a random sample); infinities, NaN, zeros and denormal numbers as in C99:
//   exp 1.00, log 0.78, log1p 1.29, tanh 1.24, erf 0.96, pow 3.0,
//   sin and cos 1.5 for |x| <= 1e4; beyond 1e6 they are within [-1, 1] and mean little.
Reg emit_math(Builder& b, Op op, DType dtype, Reg x, Reg y = kNone);

}  // namespace kb::ir
