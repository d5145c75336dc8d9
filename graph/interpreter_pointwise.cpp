// The interpreter's point-wise ops, by the formulas of the op table: in 64-bit integers for primitives of integers,
// else in double.
#include <fmt/format.h>

#include "graph/formula.h"
#include "graph/interpreter_ops.h"

namespace kb::oracle {

namespace {

// The table computes modulo 2^64. wrap() then reduces to the dtype's width, which loses nothing: 2^64 is a multiple
// of 2^bits.
void integers(const Work& work) {
  const OpInfo& row = info(work.node.op);
  const DType dtype = work.in[0]->type.dtype;
  const auto at = [&](size_t k, size_t i) {
    return k < work.in.size() ? static_cast<int64_t>(work.in[k]->data[i]) : int64_t{0};
  };
  std::vector<double>& out = work.out[0].data;
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<double>(wrap(dtype, row.integer(at(0, i), at(1, i), info(dtype).bits)));
}

template <class F>
void map(const Work& work, F&& f) {
  std::vector<double>& out = work.out[0].data;
  std::array<double, 3> args{};
  const std::span<const double> given(args.data(), work.in.size());
  for (size_t i = 0; i < out.size(); ++i) {
    for (size_t k = 0; k < work.in.size(); ++k) args[k] = work.in[k]->data[i];
    out[i] = f(given);
  }
}

}  // namespace

void pointwise(const Work& work) {
  const Op op = work.node.op;
  if (op == Op::cast) {
    const DType to = work.out[0].type.dtype;
    if (is_float(work.in[0]->type.dtype) && !is_float(to))
      return map(work, [&](std::span<const double> x) { return cast_float(to, x[0]); });
    return map(work, [&](std::span<const double> x) { return to == DType::boolean ? double(x[0] != 0) : x[0]; });
  }
  if (!is_float(work.in[0]->type.dtype) && info(op).integer) return integers(work);
  if (const FormulaRef formula = formula_of(op))
    return map(work, [&](std::span<const double> x) { return kb::evaluate(*formula, x, 0.0); });
  map(work, [&](std::span<const double> x) { return evaluate_op(op, x); });
}

}  // namespace kb::oracle
