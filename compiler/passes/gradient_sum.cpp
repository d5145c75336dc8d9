// Sums of products, from which factors that do not vary along the summed axes are pulled out. Batch norm's backward
// pass then has two sums, of dy and of dy * (x - mean), whatever factors its scale and statistics contribute.
#include <algorithm>

#include "compiler/passes/gradient_rules.h"
#include "graph/building.h"
#include "graph/functions.h"

namespace kb {
namespace {

// Bounds how deep a product or an expression is searched; composites do not nest deeper.
constexpr int kDepth = 8;

bool contains(const Ints& axes, int64_t axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); }

const Node& node_of(const Tensor& x) { return x.graph().node(x.value()); }
Tensor input_of(const Tensor& x, size_t i) { return {x.graph(), node_of(x).inputs[i]}; }

// Returns whether x may take different values along `axes`.
bool varies(const Tensor& x, const Ints& axes, int depth = kDepth) {
  const Node& node = node_of(x);
  if (node.op == Op::constant) return node.attrs.reals("values").size() != 1;
  if (node.op == Op::broadcast) {
    const Ints& to = node.attrs.ints("axes");
    const Dims& from = x.graph().type(node.inputs[0]).shape;
    for (size_t i = 0; i < to.size(); ++i) {
      if (from[i] != 1 && contains(axes, to[i])) return true;
    }
    return false;
  }
  if (!is_pointwise(node.op) || depth == 0) return true;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (varies(input_of(x, i), axes, depth - 1)) return true;
  }
  return false;
}

Tensor reduced_broadcast(const Tensor& x, const Ints& axes, const Dims& shape) {
  const Tensor source = input_of(x, 0);
  const Ints to = node_of(x).attrs.ints("axes");
  Dims kept;
  Ints kept_axes;
  for (size_t i = 0; i < to.size(); ++i) {
    if (contains(axes, to[i])) continue;  // the source has extent 1 along this axis
    kept.push_back(source.shape()[i]);
    const auto before = std::count_if(axes.begin(), axes.end(), [&](int64_t axis) { return axis < to[i]; });
    kept_axes.push_back(to[i] - before);
  }
  const Tensor small = kept == source.shape() ? source : reshape(source, kept);
  return kept == shape ? small : broadcast_axes(small, shape, kept_axes);
}

// Returns x, which does not vary along `axes`, without them, in the shape `shape`.
Tensor reduced(const Tensor& x, const Ints& axes, const Dims& shape) {
  const Node node = node_of(x);
  if (node.op == Op::constant) return constant(x.graph(), x.dtype(), node.attrs.reals("values")[0], shape);
  if (node.op == Op::broadcast) return reduced_broadcast(x, axes, shape);
  std::vector<Operand> args;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    args.push_back(reduced(Tensor(x.graph(), node.inputs[i]), axes, shape));
  }
  return node.op == Op::cast ? cast(args[0].tensor, x.dtype()) : pointwise(node.op, std::move(args));
}

struct Factors {
  std::vector<Tensor> varying, fixed, divisors;
  bool negative = false;
  bool pulled() const { return negative || !fixed.empty() || !divisors.empty(); }
};

// A product from which nothing can be pulled stays one factor, so that it is computed once.
Factors factors_of(const Tensor& x, const Ints& axes, int depth = kDepth) {
  if (!varies(x, axes)) return {{}, {x}, {}, false};
  const Op op = node_of(x).op;
  if (depth > 0 && op == Op::neg) {
    Factors f = factors_of(input_of(x, 0), axes, depth - 1);
    f.negative = !f.negative;
    return f;
  }
  if (depth > 0 && op == Op::div && !varies(input_of(x, 1), axes)) {
    Factors f = factors_of(input_of(x, 0), axes, depth - 1);
    f.divisors.push_back(input_of(x, 1));
    return f;
  }
  if (depth > 0 && op == Op::mul) {
    Factors f = factors_of(input_of(x, 0), axes, depth - 1), g = factors_of(input_of(x, 1), axes, depth - 1);
    if (f.pulled() || g.pulled()) {
      f.varying.insert(f.varying.end(), g.varying.begin(), g.varying.end());
      f.fixed.insert(f.fixed.end(), g.fixed.begin(), g.fixed.end());
      f.divisors.insert(f.divisors.end(), g.divisors.begin(), g.divisors.end());
      f.negative = f.negative != g.negative;
      return f;
    }
  }
  return {{x}, {}, {}, false};
}

// Multiplies factors in a fixed order (of their values' numbers), so that equal products are equal nodes.
Tensor product(std::vector<Tensor> factors) {
  std::sort(factors.begin(), factors.end(), [](const Tensor& a, const Tensor& b) { return a.value() < b.value(); });
  Tensor result = factors[0];
  for (size_t i = 1; i < factors.size(); ++i) result = result * factors[i];
  return result;
}

}  // namespace

Tensor sum_of_product(const Tensor& x, const Ints& axes) {
  const Factors f = factors_of(x, axes);
  if (!f.pulled()) return sum(x, axes);
  Dims shape;
  for (int64_t a = 0; a < x.rank(); ++a) {
    if (!contains(axes, a)) shape.push_back(x.size(a));
  }
  // The number of elements, and a sum without its factors, may be too large for f16 where the whole is not.
  Tensor total =
      f.varying.empty() ? broadcast_to(count(widened(x), axes), shape) : sum(widened(product(f.varying)), axes);
  for (const Tensor& factor : f.fixed) total = total * widened(reduced(factor, axes, shape));
  for (const Tensor& divisor : f.divisors) total = total / widened(reduced(divisor, axes, shape));
  return cast(f.negative ? -total : total, x.dtype());
}

}  // namespace kb
