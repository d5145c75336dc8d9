// Formulas of the op table. A formula has numbers, the arguments x, y and z, the result r, + - * / and unary -, and
// calls of point-wise ops by name, comparisons included: select(lt(x, 0), y, z). It is parsed once, and then expanded
// into graph nodes, evaluated on numbers, or differentiated symbolically.
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
  int8_t argument = 0;  // 0 is x, 1 is y, 2 is z
  Op op = Op::add;
  std::vector<std::shared_ptr<const Formula>> args = {};
};
using FormulaRef = std::shared_ptr<const Formula>;

// Throws InternalError on a syntax error, because only the op table is parsed.
FormulaRef parse_formula(std::string_view text);
// Returns the formula in the op's row; null when the op is primitive.
FormulaRef formula_of(Op op);
// Returns d(op)/d(argument) over x, y, z and r: the derivative that the op's row says, or else its formula's by the
// chain rule. Terms that are 0 and factors that are 1 are left out.
FormulaRef derivative_of(Op op, int argument);
// Evaluates the formula in double: `args` are x, y, z, and `result` is r.
double evaluate(const Formula& formula, std::span<const double> args, double result);
// Evaluates a point-wise op in double; a composite is evaluated through its formula. An op on bits takes the doubles as
// integers of 32 bits.
double evaluate_op(Op op, std::span<const double> args);
// Returns the result of a cast from a float dtype to `dtype`, on every backend. A float is rounded. An integer is
// truncated towards zero; a value out of range gives the nearest number in range, and NaN gives 0. A boolean says
// whether the value is not 0.
double cast_float(DType dtype, double value);

}  // namespace kb
