// The scalar language of the op table: numbers, x y z (arguments), r (result), + - * /, unary -, calls of point-wise
// ops by name (exp(x), select(lt(x, 0), y, z)), and comparison by name. Parsed once; expanded into graph nodes,
// numbers, or symbolic derivatives.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/dtype.h"
#include "graph/ops.h"

namespace kb {

struct Formula {
  enum class Kind : uint8_t { number, argument, result, call };
  Kind kind = Kind::number;
  double number = 0;
  int8_t argument = 0;  // 0..2
  Op op = Op::add;
  std::vector<std::shared_ptr<const Formula>> args;
};
using FormulaRef = std::shared_ptr<const Formula>;

// Throws InternalError on a syntax error (the table is ours).
FormulaRef parse_formula(std::string_view text);
// The row's formula; null for a primitive.
FormulaRef formula_of(Op op);
// d(op)/d(argument): the row's own derivative, or its formula's by the chain rule (simplified: 0 and 1 folded). Over x,
// y, z, r.
FormulaRef derivative_of(Op op, int argument);
// In double: `args` are x, y, z, `result` is r.
double evaluate(const Formula& formula, std::span<const double> args, double result);
// A primitive point-wise op (or a composite, through its formula) on doubles; one of bits on integers of 32 bits that
// doubles hold.
double evaluate_op(Op op, std::span<const double> args);
// Returns what a cast from a float dtype to `to` gives, on every backend: floats are rounded; to integers the value is
// truncated towards zero, one outside of `to`'s range becomes the nearest number in it, and NaN becomes 0; a boolean
// says whether the value is not 0.
double cast_float(DType to, double value);

}  // namespace kb
