// Transcendental functions as KernelIR: range reduction and a polynomial from +, -, *, /, fma, floor, bitcasts and
// integer arithmetic only, so that every processor, vector body and tail give the same bits.
#pragma once
#include "compiler/kernel_builder.h"

namespace kb {

// Ops that are no instruction of their own in f32, bf16 and f16. In f64 they are, and call the C library.
bool is_math(Op op);
// The op is one of these or its formula calls one: dear to compute again.
bool calls_math(Op op);

// op(x) or op(x, y) for values of type `dtype`, bf16 and f16 by way of f32; other ops become one `compute`. Greatest
// errors in f32, in units in the last place, over every 37th float (pow: a random sample), with infinities, NaN, zeros
// and denormal numbers as in C99:
//   exp 1.0, log 0.8, log1p 1.4, tanh 1.4, erf 1.0, pow 3.0,
//   sin and cos 1.6 for |x| <= 1e4; beyond 1e6 they are within [-1, 1] and mean little.
ir::Reg emit_math(ir::Builder& b, Op op, DType dtype, ir::Reg x, ir::Reg y = ir::kNone);

}  // namespace kb
