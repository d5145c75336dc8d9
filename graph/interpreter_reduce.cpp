// Reductions: a walk over the input, where reduced axes have stride 0 in the result. Sums go in row-major order.
#include <cmath>
#include <limits>

#include "graph/interpreter_ops.h"

namespace kb::oracle {
namespace {

// Strides of the result over the input's axes.
Ints result_strides(const Dims& shape, const Ints& axes) {
  Dims kept = shape;
  for (const int64_t axis : axes) kept[static_cast<size_t>(axis)] = 1;
  Ints strides = row_major(kept);
  for (const int64_t axis : axes) strides[static_cast<size_t>(axis)] = 0;
  return strides;
}

// f(result element, input element) for all of the input.
template <class F>
void fold(const Work& work, const Ints& axes, std::vector<double>& result, F&& f) {
  const Array& in = *work.in[0];
  size_t i = 0;
  walk<1>(in.type.shape, {result_strides(in.type.shape, axes)},
          [&](const auto& at) { f(result[static_cast<size_t>(at[0])], in.data[i++], static_cast<size_t>(at[0])); });
}

void extremum(const Work& work, double sign) {
  std::vector<double>& out = work.out[0].data;
  out.assign(out.size(), -sign * std::numeric_limits<double>::infinity());
  fold(work, work.node.attrs.ints("axes"), out, [&](double& best, double x, size_t) {
    if (sign * x > sign * best || std::isnan(x)) best = x;
  });
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
  double count = 1;
  for (const int64_t axis : axes) count *= static_cast<double>(work.in[0]->type.shape[static_cast<size_t>(axis)]);
  fold(work, axes, mean, [](double& m, double x, size_t) { m += x; });
  for (double& m : mean) m /= count;
  fold(work, axes, variance, [&](double& v, double x, size_t at) { v += (x - mean[at]) * (x - mean[at]); });
  for (double& v : variance) v /= count;
}

}  // namespace

void reduction(const Work& work) {
  switch (work.node.op) {
    case Op::reduce_sum:
      return fold(work, work.node.attrs.ints("axes"), work.out[0].data, [](double& s, double x, size_t) { s += x; });
    case Op::reduce_max:
      return extremum(work, 1);
    case Op::reduce_min:
      return extremum(work, -1);
    case Op::argmax:
      return argmax(work);
    case Op::moments:
      return moments(work);
    default:
      throw InternalError("interpreter: not a reduction");
  }
}

}  // namespace kb::oracle
