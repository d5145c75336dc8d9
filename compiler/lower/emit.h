// Writes the values of point-wise ops, casts and numbers of a dtype into registers, in register form (compiler/kernel).
#pragma once
#include "compiler/kernel/builder.h"

namespace kb {

// Returns a point-wise op's result on registers in register form, rounded to `dtype` if that is bf16 or f16. Composites
// are expanded.
ir::Reg emit_pointwise(ir::Builder& b, Op op, DType dtype, ir::Reg x, ir::Reg y = ir::kNone, ir::Reg z = ir::kNone);
// Returns `x` cast to `to`, in register form.
ir::Reg emit_cast(ir::Builder& b, DType to, ir::Reg x);
// These return the least number of `dtype` (floats: minus infinity) and the greatest, in register form.
ir::Reg emit_lowest(ir::Builder& b, DType dtype);
ir::Reg emit_highest(ir::Builder& b, DType dtype);
// Returns whether x > y, where NaN is greater than every number.
ir::Reg emit_exceeds(ir::Builder& b, ir::Reg x, ir::Reg y);
// Returns `value`, rounded to `dtype`, in register form.
ir::Reg emit_number(ir::Builder& b, DType dtype, double value);

}  // namespace kb
