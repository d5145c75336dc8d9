// These steps of a random graph compute element by element, in floats and in integers that become floats.
#include "tests/support/random_graph_builder.h"

#include <algorithm>
#include <cmath>

#include "graph/formula.h"
#include "graph/functions.h"

namespace kb::test {

void RandomGraphBuilder::unary() {
  Pooled& item = pick();
  const auto [bound, exact] = std::pair{item.bound, item.exact};
  const Tensor x = use(item);
  switch (random_.integer(0, 9)) {
    case 0:
      return keep(softplus(x), bound + 1);
    case 1:
      return keep(silu(x), bound);
    case 2:
      return keep(-x, bound, pool_.back().exact && x.value() == pool_.back().tensor.value());
    case 3:
      return keep(x * x, bound * bound);
    default:
      return tabled_unary(x);
  }
}

// Takes the next smooth op of the table of ops, on the inner part of the interval in its row.
void RandomGraphBuilder::tabled_unary(Tensor x) {
  std::vector<const OpInfo*> rows;
  for (const OpInfo& row : all_ops())
    if (row.rule == TypeRule::floats && row.arity == 1 && !row.exact) rows.push_back(&row);
  const OpInfo& row = *in_turn(rows);
  const double middle = (row.smooth.low + row.smooth.high) / 2, reach = 0.45 * (row.smooth.high - row.smooth.low);
  double bound = 0;
  for (int i = -16; i <= 16; ++i) {
    const double at = middle + reach * i / 16;
    bound = std::max(bound, std::abs(evaluate_op(row.op, {&at, 1})));
  }
  keep(pointwise(row.op, {tanh(x) * reach + middle}), bound);
}

void RandomGraphBuilder::kinked_unary() {
  Pooled& item = pick();
  const double bound = item.bound;
  const bool exact = item.exact;
  const Tensor x = use(item);
  switch (random_.integer(0, 3)) {
    case 0:
      return keep(abs(x), bound, exact);
    case 1:
      return keep(relu(x), bound, exact);
    case 2:
      return keep(leaky_relu(x, 0.25), bound, exact);
    default:
      return keep(clamp(x, -1.5, 2), 2, exact);
  }
}

void RandomGraphBuilder::jumping_unary() {
  Pooled& item = pick_exact();
  const double bound = item.bound;
  const Tensor x = use(item);
  if (random_.chance(0.3)) return keep(cast(cast(x, DType::i32), options_.dtype), bound, true);
  std::vector<Op> jumps;  // their results are exact, and no further away than the next integer
  for (const OpInfo& row : all_ops())
    if (is_pointwise(row.op) && row.arity == 1 && row.exact) jumps.push_back(row.op);
  keep(pointwise(in_turn(jumps), {x}), bound + 1, true);
}

void RandomGraphBuilder::binary() {
  Pooled& item = pick();
  const double bound = item.bound;
  const Tensor a = use(item);
  Tensor b = a;
  double other = bound;
  // The other operand is a tensor of the pool with an equal shape, or a new leaf that broadcasts to it.
  for (Pooled& candidate : pool_) {
    if (candidate.tensor.shape() != a.shape() || !random_.chance(0.3)) continue;
    other = candidate.bound;
    b = use(candidate);
  }
  if (b.value() == a.value() && random_.chance(0.8)) {
    const Pooled made = fresh(broadcastable(a.shape()));
    b = made.tensor;
    other = made.bound;
  }
  switch (random_.integer(0, 6)) {
    case 0:
      return keep(a + b, bound + other);
    case 1:
      return keep(b - a, bound + other);
    case 2:
      return keep(a * b, bound * other);
    case 3:
      return keep(a / positive(b), 2 * bound);
    case 4:
      return keep(b / positive(a), 2 * other);
    case 5:
      return keep(pow(positive(a), tanh(b)), bound + 2);
    default:
      return keep(a * 0.75 + 1.5 - b, bound + other + 2);
  }
}

void RandomGraphBuilder::kinked_binary() {
  Pooled& item = pick();
  const double bound = item.bound;
  const Tensor a = use(item);
  const Pooled other = fresh(broadcastable(a.shape()));
  const double most = std::max(bound, other.bound);
  const bool exact = item.exact;
  if (random_.chance(0.5)) return keep(maximum(a, other.tensor), most, exact);
  keep(minimum(other.tensor, a), most, exact);
}

void RandomGraphBuilder::comparison() {
  Pooled& item = pick_exact();
  const double bound = item.bound;
  const Tensor a = use(item);
  const Pooled other = fresh(broadcastable(a.shape()));
  const Tensor b = other.tensor;
  const std::vector<Op> ops = {Op::eq, Op::ne, Op::lt, Op::le, Op::gt, Op::ge};
  Tensor condition = pointwise(random_.pick(ops), {a, b});
  if (random_.chance(0.3)) condition = logical_not(condition);
  if (random_.chance(0.3)) condition = bit_xor(condition, a < 0.5);
  if (random_.chance(0.3)) return keep(cast(condition, options_.dtype), 1, true);
  keep(select(condition, a, random_.chance(0.5) ? Operand(b) : Operand(1.25)), std::max(bound, other.bound), true);
}

// Sends small integers through signed arithmetic and casts the result to floats.
void RandomGraphBuilder::integers() {
  const Dims dims = shape(0, 4);
  const Tensor a = given("k", random_.chance(0.3) ? DType::u8 : DType::i32, dims);
  const Tensor i = cast(a, DType::i32);
  const Tensor j = given("k", DType::i32, broadcastable(dims));
  Tensor result = i + j * 3.0;
  switch (random_.integer(0, 4)) {
    case 0:
      result = maximum(result, 4.0) - i;
      break;
    case 1:
      result = bit_and(result, 5.0);
      break;
    case 2:
      result = result * i - 7.0;
      break;
    case 3:
      result = select(result > j, result, -i);
      break;
    default:
      break;
  }
  keep(cast(result, options_.dtype), 40, true);
}

// Computes with unsigned integers, which wrap; the upper bits become a number in [0, 1).
void RandomGraphBuilder::bits() {
  Dims dims = shape(1, 4);
  Tensor word = random_bits(graph_, fresh_name("stream"), dims);
  switch (random_.integer(0, 4)) {
    case 0:
      word = bit_xor(word, shift_right(word, 7.0));
      break;
    case 1:
      word = word * 2654435761.0;
      break;
    case 2:
      word = bit_or(shift_left(word, 9.0), shift_right(word, 23.0));
      break;
    case 3:
      word = mul_high(word, 3000000000.0) + 5.0;
      break;
    default:
      break;
  }
  const Tensor share = cast(shift_right(word, 8.0), DType::f32) * 0x1p-24;
  keep(cast(share, options_.dtype), 1, true);
}

void RandomGraphBuilder::low_precision() {
  Pooled& item = pick_exact();
  const double bound = item.bound;
  const Tensor x = cast(use(item), random_.chance(0.5) ? DType::bf16 : DType::f16);
  keep(cast(random_.chance(0.5) ? relu(x) : -x, options_.dtype), bound, true);
}

}  // namespace kb::test
