// KernelIR's instructions on single values, which define what they mean.
#pragma once
#include <cstdint>

#include "compiler/kernel_ir.h"

namespace kb::ir {

// One number of any type.
struct Scalar {
  double number = 0;    // the value of a float
  int64_t integer = 0;  // the value of an integer or a boolean
};
// Returns a primitive point-wise op's result, rounded to its type. `type` is that of the operands; for select, of those
// that it selects from.
Scalar evaluate_primitive(Op op, DType type, const Scalar& x, const Scalar& y, const Scalar& z);
// Returns a * b + c, rounded once to `type`, which is f32 or f64.
double evaluate_fma(DType type, double a, double b, double c);
// Returns `x` converted from type `from` to type `to`.
Scalar convert_scalar(DType to, DType from, const Scalar& x);

}  // namespace kb::ir
