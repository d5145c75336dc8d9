// The interpreter's reductions: a walk over the input in row-major order, in which a reduced axis has stride 0 in the
// result.
#include <cmath>
#include <limits>

#include "graph/interpreter_ops.h"

namespace kb::oracle {
namespace {

// Returns the strides of the result along the axes of the input.
Ints result_strides(const Dims& shape, const Ints& axes) {
  Dims kept = shape;
  for (const int64_t axis : axes) kept[static_cast<size_t>(axis)] = 1;
  Ints strides = row_major(kept);
  for (const int64_t axis : axes) strides[static_cast<size_t>(axis)] = 0;
  return strides;
}

// Calls f(result element, input element) for every element of the input.
template <class F>
void fold(const Work& work, const Ints& axes, std::vector<double>& result, F&& f) {
  const Array& in = *work.in[0];
  size_t i = 0;
  walk<1>(in.type.shape, {result_strides(in.type.shape, axes)},
          [&](const auto& at) { f(result[static_cast<size_t>(at[0])], in.data[i++], static_cast<size_t>(at[0])); });
}

double initial(Neutral neutral) {
  if (neutral == Neutral::lowest) return -std::numeric_limits<double>::infinity();
  if (neutral == Neutral::highest) return std::numeric_limits<double>::infinity();
  return neutral == Neutral::one ? 1 : 0;
}

void fold_by_op(const Work& work) {
  const OpInfo& op = info(work.node.op);
  const Ints& axes = work.node.attrs.ints("axes");
  std::vector<double>& out = work.out[0].data;
  out.assign(out.size(), initial(op.neutral));
  const DType dtype = work.in[0]->type.dtype;
  const bool is_arithmetic = op.neutral == Neutral::zero || op.neutral == Neutral::one;
  // Integers are reduced modulo 2^bits: a product would soon exceed what double holds exactly.
  if (is_arithmetic && !is_float(dtype)) {
    const auto combine = info(op.combine).integer;
    return fold(work, axes, out, [&](double& so_far, double x, size_t) {
      const int64_t joined = combine(static_cast<int64_t>(x), static_cast<int64_t>(so_far), 8 * size_of(dtype));
      so_far = static_cast<double>(wrap(dtype, joined));
    });
  }
  const auto combine = info(op.combine).real;
  fold(work, axes, out, [&](double& so_far, double x, size_t) { so_far = combine(x, so_far, 0); });
}

void argmax(const Work& work) {
  const auto axis = static_cast<size_t>(work.node.attrs.integer("axis"));
  const Dims& shape = work.in[0]->type.shape;
  const int64_t inner = row_major(shape)[axis];
  std::vector<double>& out = work.out[0].data;
  for (size_t i = 0; i < out.size(); ++i) {
    const auto o = static_cast<int64_t>(i);
    const double* x = work.in[0]->data.data() + (o / inner) * inner * shape[axis] + o % inner;
    int64_t best = 0;
    for (int64_t k = 1; k < shape[axis] && !std::isnan(x[best * inner]); ++k) {
      if (x[k * inner] > x[best * inner] || std::isnan(x[k * inner])) best = k;
    }
    out[i] = static_cast<double>(best);
  }
}

void moments(const Work& work) {
  const Ints& axes = work.node.attrs.ints("axes");
  std::vector<double>&mean = work.out[0].data, &variance = work.out[1].data;
  const double count = extent_along(work.in[0]->type.shape, axes);
  fold(work, axes, mean, [](double& m, double x, size_t) { m += x; });
  for (double& m : mean) m /= count;
  fold(work, axes, variance, [&](double& v, double x, size_t at) { v += (x - mean[at]) * (x - mean[at]); });
  for (double& v : variance) v /= count;
}

}  // namespace

void reduction(const Work& work) {
  if (is_fold(work.node.op)) return fold_by_op(work);
  if (work.node.op == Op::argmax) return argmax(work);
  ensure(work.node.op == Op::moments, "interpreter: not a reduction");
  moments(work);
}

}  // namespace kb::oracle
