// Writes transcendental functions as KernelIR: range reduction and a polynomial, by +, -, *, /, fma, floor, bitcasts
// and integer arithmetic only, so that every processor, vector body and tail give the same bits.
#pragma once
#include "compiler/kernel/builder.h"

namespace kb {

// Returns whether emit_math expands the op in f32, bf16 and f16. In f64 it is one instruction, a call of the C library.
bool is_math(Op op);
// Returns whether the op is such an op or its formula calls one, so that it is expensive to compute again.
bool calls_math(Op op);

// Writes op(x) or op(x, y) for values of type `dtype`, bf16 and f16 by way of f32; other ops become one `compute`.
// OpInfo::ulps is the greatest error of each in f32; infinities, NaN, zeros and denormal numbers are as in C99. sin and
// cos of |x| > 1e6 are within [-1, 1] and mean little.
ir::Reg emit_math(ir::Builder& b, Op op, DType dtype, ir::Reg x, ir::Reg y = ir::kNone);

}  // namespace kb
