// Transcendental functions as KernelIR: range reduction and a polynomial from +, -, *, /, fma, floor, bitcasts and
// integer arithmetic only, so that every processor, vector body and tail give the same bits.
#pragma once
#include "compiler/kernel/builder.h"

namespace kb {

// Ops that are no instruction of their own in f32, bf16 and f16. In f64 they are, and call the C library.
bool is_math(Op op);
// The op is one of these or its formula calls one: dear to compute again.
bool calls_math(Op op);

// op(x) or op(x, y) for values of type `dtype`, bf16 and f16 by way of f32; other ops become one `compute`. The
// greatest errors in f32 stand in the ops' rows (OpInfo::ulps); infinities, NaN, zeros and denormal numbers are as in
// C99. sin and cos of |x| > 1e6 are within [-1, 1] and mean little.
ir::Reg emit_math(ir::Builder& b, Op op, DType dtype, ir::Reg x, ir::Reg y = ir::kNone);

}  // namespace kb
