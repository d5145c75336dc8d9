// These steps of a random graph compute with integers and booleans of every width, which are never cast to floats.
#include "tests/support/random_graph_builder.h"

#include "graph/functions.h"

namespace kb::test {
namespace {

const std::vector<DType> kWhole = tensor_dtypes([](DType dtype) { return !is_float(dtype); });

}  // namespace

Tensor RandomGraphBuilder::whole(DType dtype, const Dims& shape) { return given("k", dtype, shape); }

Tensor RandomGraphBuilder::pick_whole() {
  if (!whole_.empty() && random_.chance(0.7))
    return whole_[static_cast<size_t>(random_.integer(0, static_cast<int64_t>(whole_.size()) - 1))];
  return whole(random_.pick(kWhole), shape(0, 5));
}

Tensor RandomGraphBuilder::whole_pointwise(Tensor a) {
  static const std::vector<Op> arithmetic = {Op::add,     Op::sub,    Op::mul,     Op::div,        Op::maximum,
                                             Op::minimum, Op::bit_or, Op::bit_and, Op::shift_left, Op::shift_right};
  static const std::vector<Op> bitwise = {Op::bit_and, Op::bit_or, Op::bit_xor};
  static const std::vector<Op> unary = {Op::neg, Op::abs, Op::sign, Op::relu};
  static const std::vector<Op> comparisons = {Op::eq, Op::ne, Op::lt, Op::le, Op::gt, Op::ge};
  const bool boolean = a.dtype() == DType::boolean;
  const Tensor b = random_.chance(0.3) ? a : whole(a.dtype(), broadcastable(a.shape()));
  switch (random_.integer(0, 5)) {
    case 0:
      return pointwise(random_.pick(comparisons), {a, b});
    case 1:
      return boolean ? logical_not(a) : pointwise(random_.pick(unary), {a});
    case 2:
      return cast(a, random_.pick(kWhole));
    case 3:
      return select(pointwise(random_.pick(comparisons), {a, b}), a, b);
    case 4:
      return a.dtype() == DType::u32 ? mul_high(a, b) : pointwise(random_.pick(bitwise), {a, b});
    default:
      return pointwise(random_.pick(boolean ? bitwise : arithmetic), {a, b});
  }
}

Tensor RandomGraphBuilder::whole_move(Tensor a) {
  if (a.rank() == 0) return broadcast_to(a, {random_.integer(1, 7)});
  const int64_t axis = random_.integer(0, a.rank() - 1), extent = a.size(axis);
  const bool boolean = a.dtype() == DType::boolean;
  Ints perm;
  switch (random_.integer(0, 7)) {
    case 0:
      for (int64_t i = 0; i < a.rank(); ++i) perm.insert(perm.begin() + random_.integer(0, i), i);
      return transpose(a, perm);
    case 1:
      return slice(a, axis, extent > 1 ? random_.integer(0, extent - 1) : 0, extent, random_.integer(1, 3));
    case 2:
      return concat({a, slice(a, axis, 0, 1)}, axis);
    case 3:
      return pad(a, Ints(a.shape().size(), 1), Ints(a.shape().size(), 0), 1);
    case 4:
      return gather(a, indices({random_.integer(1, 5)}, a.size(0)));
    case 5:
      return boolean || is_narrow(a.dtype()) ? cast(a, DType::i32) : sum(a, {axis}, random_.chance(0.5));
    case 6:
      return boolean ? reshape(a, {-1}) : random_.chance(0.5) ? max(a, {axis}) : min(a, {axis});
    default:
      return boolean ? logical_not(a) : argmax(a, axis);
  }
}

void RandomGraphBuilder::whole_numbers() {
  const Tensor a = pick_whole();
  const Tensor made = random_.chance(0.5) ? whole_pointwise(a) : whole_move(a);
  if (made.type().elements() <= 4 * options_.max_elements) whole_.push_back(made);
}

}  // namespace kb::test
